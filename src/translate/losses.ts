import { type ClientFields, clientName } from '../core/client-name.js'
import type { Carry } from '../core/fields.js'
import { untranslatable } from '../core/refusals.js'
import { shownName } from '../core/shown-name.js'
import type { Left } from '../core/text.js'
import type { DecodedRequest } from './decode.js'

/** Maximum number of losses that one request reports. */
const MAX_LOSSES = 64

/** How clients write the fields, and what becomes of them: the two tables of a pair of codecs. */
interface Tables {
  readonly fields: ClientFields
  readonly carries: Readonly<Record<string, Carry>>
}

/**
 * What of a request does not go out as it was asked for, by the client's own names. Where nothing may be lost, the first
 * loss is an error instead.
 */
export class Losses {
  readonly #tables: Tables
  #decoded: Pick<DecodedRequest, 'body' | 'inherited'>
  readonly #strict: boolean
  readonly #dropped = new Map<string, string>()
  readonly #names = new Map<string, string>()

  constructor(tables: Tables, decoded: Pick<DecodedRequest, 'body' | 'inherited'>, strict: boolean) {
    this.#tables = tables
    this.#decoded = decoded
    this.#strict = strict
  }

  /** Members of the client's body that no other protocol knows. */
  left(members: readonly Left[]): void {
    for (const { field, why } of members) this.drop(this.own(field), why)
  }

  /** Drops the body: from now on losses of answers are noted alone, by names that need none. */
  release(): void {
    this.#decoded = { body: {}, inherited: this.#decoded.inherited }
  }

  /** What an encoder says of a canonical field; see `Target.lose`. */
  readonly lose = (field: string, at?: string, why?: string): void => {
    const carry = this.#tables.carries[field]
    const name = this.own(at ?? this.nameOf(field))
    if (typeof carry === 'object' && 'refused' in carry) throw untranslatable(name, why ?? carry.refused)
    if (why === undefined && typeof carry === 'object' && 'approximated' in carry) return
    this.drop(name, why ?? (typeof carry === 'object' && 'dropped' in carry ? carry.dropped : 'it is unknown there'))
  }

  /** Looked for once: an encoder may lose the same of each of many parts. */
  private nameOf(field: string): string {
    const known = this.#names.get(field)
    if (known !== undefined) return known
    const name = clientName(this.#tables.fields, field, this.#decoded.body)
    this.#names.set(field, name)
    return name
  }

  /** The client's own name of an item; items of earlier turns precede it. */
  private own(name: string): string {
    const { inherited } = this.#decoded
    const index = inherited === 0 ? undefined : /^input\[(\d+)\]/.exec(name)?.[1]
    if (index === undefined) return name
    const own = Number(index) - inherited
    return own < 0 ? 'previous_response_id' : name.replace(index, String(own))
  }

  drop(field: string, why: string): void {
    if (this.#strict) throw untranslatable(shownName(field), why)
    this.note(field, why)
  }

  /** An answer gives less than the field asked for. */
  short(field: string, why: string): void {
    this.note(this.own(this.nameOf(field)), why)
  }

  /** Something of an answer that cannot be shown: the work is done, so it is not an error, even in strict mode. */
  note(field: string, why: string): void {
    if (this.#dropped.size < MAX_LOSSES) this.#dropped.set(shownName(field), why)
  }

  /**
   * As {@link lose}, for a request that is counted and not run. What {@link lose} refuses is refused here too. Only
   * content (a part, a tool) is reported as lost, not settings, and that is not an error even in strict mode.
   */
  readonly miss = (field: string, at?: string, why?: string): void => {
    const carry = this.#tables.carries[field]
    const isRefused = typeof carry === 'object' && 'refused' in carry
    if (isRefused) this.lose(field, at, why)
    else if (at !== undefined && (why !== undefined || (typeof carry === 'object' && 'dropped' in carry)))
      this.note(this.own(at), why ?? 'it is not counted there')
  }

  /** Names of what was left out, in the order in which it was found. */
  get dropped(): readonly string[] {
    return [...this.#dropped.keys()]
  }

  /** Why each of these was left out. */
  get reasons(): ReadonlyMap<string, string> {
    return this.#dropped
  }

  /** Header lines for the client as a flat name, value list; empty if nothing was lost. */
  headers(): string[] {
    return this.#dropped.size === 0 ? [] : ['x-gateway-dropped', this.dropped.join(', ')]
  }
}
