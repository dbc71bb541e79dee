import type { CallConfig } from '../core/config.js'
import type { Call, Params } from '../core/plan.js'
import type { Placed } from './credential.js'

const VARIABLE = /\{(\w+\*?)\}/

/** A place in a call that a value of the request fills. */
interface Slot {
  readonly name: string
  readonly inPath: boolean
  /** `{name*}`: the slashes of the value stay what they are. */
  readonly segments: boolean
  /** The fixed text behind it. */
  readonly after: string
}

/** A request line towards an upstream, as a template that values are filled into, each percent-encoded. */
export class UpstreamCall implements Call {
  readonly method: string
  readonly text: string
  readonly #start: string
  readonly #slots: readonly Slot[]
  readonly #query: string
  readonly #shownQuery: string

  /** `prefix` is the path of the upstream's base, without a slash at its end. */
  constructor({ method, target }: CallConfig, prefix: string, credential: Placed) {
    this.method = method
    this.text = `${method} ${target}`
    const [start = '', ...rest] = target.split(VARIABLE)
    this.#start = prefix + start
    this.#slots = slotsOf(rest, target.indexOf('?'), start.length)
    const mark = target.includes('?') ? '&' : '?'
    this.#query = credential.query === '' ? '' : mark + credential.query
    this.#shownQuery = credential.shownQuery === '' ? '' : mark + credential.shownQuery
  }

  /** Names of the values that have to be there. */
  get variables(): readonly string[] {
    return this.#slots.map(slot => slot.name)
  }

  /** Whether the value of that name becomes part of the path. */
  placesInPath(name: string): boolean {
    return this.#slots.some(slot => slot.name === name && slot.inPath)
  }

  target(variables: Params): string {
    return this.#fill(variables) + this.#query
  }

  /** The same with the credential masked. */
  shown(variables: Params): string {
    return this.#fill(variables) + this.#shownQuery
  }

  #fill(variables: Params): string {
    let filled = this.#start
    for (const slot of this.#slots) filled += encode(variables[slot.name], slot) + slot.after
    return filled
  }
}

/** `rest` is name and fixed text in turn, as splitting by the pattern gives them; `start` is how long the text before is. */
function slotsOf(rest: readonly string[], query: number, start: number): readonly Slot[] {
  const slots: Slot[] = []
  let at = start
  for (let index = 0; index + 1 < rest.length; index += 2) {
    const [written = '', after = ''] = rest.slice(index, index + 2)
    const segments = written.endsWith('*')
    const name = segments ? written.slice(0, -1) : written
    slots.push({ name, inPath: query < 0 || at < query, segments, after })
    at += written.length + '{}'.length + after.length
  }
  return slots
}

/**
 * Router and models refuse dot segments long before; a second lock stands here, because dots are all that
 * percent-encoding leaves for a value to climb with.
 */
function encode(value: string | undefined, slot: Slot): string {
  const { name, inPath, segments } = slot
  if (value === undefined) throw new Error(`nothing is known of {${name}}`)
  if (segments && value.includes('/'))
    return value
      .split('/')
      .map(part => encode(part, { ...slot, segments: false }))
      .join('/')
  if (inPath && (value === '.' || value === '..')) throw new Error(`{${name}} is a dot segment`)
  return encodeURIComponent(value)
}
