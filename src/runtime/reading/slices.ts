import { shippedSchema } from '../../config/schemas.js'
import type { Config } from '../../core/config.js'
import { packageRoot } from '../../core/package-root.js'
import { type Entries, SECTIONS, type Settings } from './messages.js'
import { Parcel, unwrap } from './parcel.js'
import { isSame } from './same.js'

/** Who receives takes over so many values in one turn of its event loop, or one entry where that has more. */
const SLICE_VALUES = 2000

/** A parcel of the settings of a configuration. */
export function settingsOf(config: Config): unknown {
  const settings = { ...config, ...Object.fromEntries(SECTIONS.map(section => [section, undefined])) }
  return new Parcel(settings).content
}

/** The entries of a configuration, in slices. */
export function* slicesOf(config: Config): Generator<Entries, undefined> {
  let slice: Entries[number][] = []
  let size = 0
  for (const section of SECTIONS) {
    for (const [name, value] of Object.entries(config[section])) {
      const parcel = new Parcel(value)
      slice.push([section, name, parcel.content])
      size += parcel.size
      if (size < SLICE_VALUES) continue
      yield slice
      slice = []
      size = 0
    }
  }
  if (slice.length > 0) yield slice
}

/**
 * Puts a configuration together of its settings and slices. Entries that say the same as those of `before` are those very
 * objects: what was made of them is still good, and they take no more memory.
 */
export class Assembly {
  readonly #before: Config | undefined
  readonly #sections = Object.fromEntries(SECTIONS.map(name => [name, Object.create(null)]))

  constructor(before: Config | undefined) {
    this.#before = before
  }

  add(entries: Entries): void {
    for (const [section, name, content] of entries) {
      const value = unwrap(content)
      const known = this.#before?.[section][name]
      const isKnown = known !== undefined && isSame(known, value)
      this.#sections[section][name] = isKnown ? known : section === 'schemas' ? withCheck(name, value) : value
    }
  }

  /** All slices have been added. `settings`: a parcel. */
  finish(settings: unknown): Config {
    // Each section has come whole.
    return { ...(unwrap(settings) as Settings), ...(this.#sections as Omit<Config, keyof Settings>) }
  }
}

/** A shipped request schema as this thread has it, with the check that was compiled ahead of time. */
function withCheck(name: string, schema: unknown): unknown {
  const shipped = shippedSchema(packageRoot(), name)
  return isSame(shipped, schema) ? shipped : schema
}
