import type { CallConfig } from '../core/config.js'
import type { Params } from '../core/params.js'
import type { Call } from '../core/upstream-call.js'
import type { Placed } from './credential.js'

const OPTIONAL = /\[([^[\]]*)\]/
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

/** A part of a call: fixed text, and what is filled in behind it. */
interface Piece {
  readonly start: string
  readonly slots: readonly Slot[]
  /** `[/{mode}]`: left out where one of its values is not known. */
  readonly optional: boolean
}

/** A request line towards an upstream, as a template that values are filled into, each percent-encoded. */
export class UpstreamCall implements Call {
  readonly method: string
  readonly text: string
  readonly #prefix: string
  readonly #pieces: readonly Piece[]
  readonly #query: string
  readonly #shownQuery: string
  readonly #sent: ReadonlySet<string>

  /** `prefix` is the path of the upstream's base, without a slash at its end. `sent`: names of values that come from the body. */
  constructor({ method, target }: CallConfig, prefix: string, credential: Placed, sent: ReadonlySet<string> = NONE) {
    this.#sent = sent
    this.method = method
    this.text = `${method} ${target}`
    this.#prefix = prefix
    this.#pieces = piecesOf(target)
    const mark = target.includes('?') ? '&' : '?'
    this.#query = credential.query === '' ? '' : mark + credential.query
    this.#shownQuery = credential.shownQuery === '' ? '' : mark + credential.shownQuery
  }

  /** Names of the values that the route has to have. */
  get variables(): readonly string[] {
    const needed = this.#pieces.filter(({ optional }) => !optional).flatMap(({ slots }) => slots.map(slot => slot.name))
    return needed.filter(name => !this.#sent.has(name))
  }

  /** Whether the value of that name becomes part of the path. */
  placesInPath(name: string): boolean {
    return this.#pieces.some(({ slots }) => slots.some(slot => slot.name === name && slot.inPath))
  }

  target(variables: Params): string {
    return this.#fill(variables) + this.#query
  }

  /** The same with the credential masked, and values that come from the body by their names. */
  shown(variables: Params): string {
    return this.#fill(variables, true) + this.#shownQuery
  }

  #fill(variables: Params, isShown = false): string {
    let filled = this.#prefix
    for (const { start, slots, optional } of this.#pieces) {
      if (optional && slots.some(({ name }) => variables[name] === undefined)) continue
      filled += start
      for (const slot of slots) {
        const value = variables[slot.name]
        const isUnknown = isShown && value === undefined && this.#sent.has(slot.name)
        filled += (isUnknown ? `{${slot.name}}` : encode(value, slot)) + slot.after
      }
    }
    return filled
  }
}

const NONE: ReadonlySet<string> = new Set()

function piecesOf(target: string): readonly Piece[] {
  const query = target.indexOf('?')
  let at = 0
  return target.split(OPTIONAL).map((text, index) => {
    const [start = '', ...rest] = text.split(VARIABLE)
    const piece = { start, slots: slotsOf(rest, query, at + start.length), optional: index % 2 === 1 }
    at += text.length + (piece.optional ? '[]'.length : 0)
    return piece
  })
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
 * Router and models refuse dot segments long before; a second lock is here, because dots are all that
 * percent-encoding leaves for a value to climb with.
 */
function encode(value: string | undefined, slot: Slot): string {
  const { name, inPath, segments } = slot
  if (value === undefined) throw new Error(`the value of {${name}} is unknown`)
  if (segments && value.includes('/'))
    return value
      .split('/')
      .map(part => encode(part, { ...slot, segments: false }))
      .join('/')
  if (inPath && (value === '.' || value === '..')) throw new Error(`{${name}} is a dot segment`)
  return encodeURIComponent(value)
}
