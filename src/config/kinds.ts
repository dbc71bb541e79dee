import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../core/json.js'
import type { Context } from './context.js'
import { Site } from './document.js'
import type { Entries } from './entries.js'
import { openFile } from './open.js'
import type { RawKind, RawUpstream } from './raw.generated.js'
import { listed, quoted, Report } from './report.js'
import { suggest } from './suggest.js'

/** One layer of an upstream: itself, its kind, the kind's kind. */
export interface Layer {
  readonly value: RawUpstream
  readonly site: Site
  /** The kind's name; the upstream itself has none. */
  readonly kind: string | undefined
}

/** Kinds by name: the user's, and those that are shipped, which are read when they are first asked for. */
export class Kinds {
  readonly #folder: string
  readonly #own: Entries<RawKind>
  readonly #shipped = new Map<string, Layer | undefined>()
  readonly #context: Context

  constructor(folder: string, own: Entries<RawKind>, context: Context) {
    this.#folder = folder
    this.#own = own
    this.#context = context
  }

  /** The user's kinds and the shipped ones. */
  get names(): readonly string[] {
    return [...new Set([...this.#own.keys(), ...shippedNames(this.#folder)])].sort()
  }

  /**
   * The layers of an upstream or kind, from the outermost kind to itself. `undefined` where one is unknown or unusable,
   * or where they run in a circle; the report says so.
   */
  layers(value: RawUpstream, site: Site, kind?: string): readonly Layer[] | undefined {
    const layers: Layer[] = [{ value, site, kind }]
    for (let innermost = layers[0]; innermost?.value.kind !== undefined; innermost = layers[0]) {
      const name = innermost.value.kind
      const place = innermost.site.child('kind')
      if (layers.some(layer => layer.kind === name)) {
        const way = [...layers].reverse().flatMap(layer => layer.kind ?? [])
        this.#context.report.error(
          'kind-cycle',
          place,
          `kinds extend each other in a circle: ${[...way, name].join(' → ')}`,
        )
        return undefined
      }
      const parent = this.#find(name, place, innermost.kind)
      if (parent === undefined) return undefined
      layers.unshift(parent)
    }
    return layers
  }

  /** `asking` is the kind that builds on it, which is not a kind to suggest. */
  #find(name: string, from: Site, asking: string | undefined): Layer | undefined {
    const own = this.#own.get(name)
    if (own !== undefined) return own.value && { value: own.value, site: own.site, kind: name }
    if (!this.#shipped.has(name)) this.#shipped.set(name, this.#open(name))
    const layer = this.#shipped.get(name)
    if (layer === undefined && !shippedNames(this.#folder).includes(name)) {
      const others = this.names.filter(other => other !== asking)
      const meant = suggest(name, others) ?? onlyOneStarting(name, others) ?? this.#onlyOneOf(name)
      const known = listed(others)
      const hint = known === undefined ? 'gateway init --provider list prints them' : `there are: ${known}`
      const message = `no kind of upstream is called ${quoted(name)}${meant === undefined ? `; ${hint}` : ''}`
      this.#context.report.error('unknown-kind', from, message, { meant: () => meant, of: 'kinds' })
    }
    return layer
  }

  /** The one shipped kind whose description has this word. */
  #onlyOneOf(word: string): string | undefined {
    const having = shippedNames(this.#folder).filter(name => {
      const words = String(this.#open(name)?.value.description)
        .toLowerCase()
        .split(/[^a-z0-9]+/)
      return words.includes(word.toLowerCase())
    })
    return having.length === 1 ? having[0] : undefined
  }

  #open(name: string): Layer | undefined {
    if (!shippedNames(this.#folder).includes(name)) return undefined
    const document = openFile(join(this.#folder, `${name}.yaml`), 'kind', true, this.#context)
    if (document === undefined || document.misfits.size > 0 || !isObject(document.tree.value)) return undefined
    return { value: document.tree.value as RawKind, site: new Site(document, []), kind: name }
  }
}

/** The one kind whose name begins with this word and a dash, or the one with whose name the others begin. */
function onlyOneStarting(name: string, kinds: readonly string[]): string | undefined {
  const [first, ...others] = kinds.filter(kind => kind.startsWith(`${name}-`)).sort()
  return others.every(kind => kind.startsWith(`${first}-`)) ? first : undefined
}

/** The layer nearest to the upstream that has a field. */
export function last(layers: readonly Layer[], field: keyof RawUpstream): Layer | undefined {
  return layers.findLast(layer => layer.value[field] !== undefined)
}

/** Reads something of a layer. What is wrong with a shipped one is reported at the upstream that needs it. */
export function readLayer<T>(layer: Layer, upstream: Site, context: Context, read: (context: Context) => T): T {
  if (!layer.site.document.shipped) return read(context)
  const report = new Report(context.report.unfilled)
  const result = read({ ...context, report })
  const [place, kind] = [upstream.child('kind'), quoted(layer.kind ?? '')]
  for (const { severity, rule, message } of report.sorted()) {
    if (severity === 'error') context.report.error(rule, place, `the kind ${kind} cannot be used: ${message}`)
    else context.report.warn(rule, place, `of the kind ${kind}: ${message}`)
  }
  return result
}

/** Names of the YAML files in a shipped folder; none where there is no such folder. */
export function shippedNames(folder: string): readonly string[] {
  try {
    const files = readdirSync(folder).filter(file => file.endsWith('.yaml'))
    return files.map(file => file.slice(0, -'.yaml'.length)).sort()
  } catch {
    return []
  }
}
