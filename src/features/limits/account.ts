import { createHash } from 'node:crypto'
import { isAccount, type Tally } from '../../core/accounts.js'
import type { Bound, Scope } from '../../core/bounds.js'
import { wholeText } from '../../core/json-line.js'
import type { Span } from './windows.js'

/** What an account counts. Places (`in_flight`, `streams`) are held and given back; the others are used up. */
export type Unit = Bound['unit'] | 'in_flight' | 'streams'

/** How long the store keeps the accounts of rates after their window, and of places after their last use. */
const RATE_KEPT_MS = 2 * 60_000
/** How long a store that outlives the process keeps budgets after their window, for `ledger verify`. */
const BUDGET_KEPT_MS = 40 * 86_400_000

/** From the start of one commit to that of the next. */
export const PACE_MS = 25
/** After such a pause nothing is expected from what was taken before it. */
export const FORGETS_MS = 100

/** Longer names are shortened, and those that make the name of an account too long: one character may take twelve. */
const MAX_NAME_CHARS = 128

const PLACE: Span = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY, label: '' }

/** What this process knows and holds of one account of the store: one unit of one scope in one window. */
export class Account {
  readonly name: string
  /** The name in JSON. */
  quoted: string | undefined
  readonly unit: Unit
  readonly #keptMs: number
  span: Span
  /** The largest sum of what is spent and held. */
  bound: number
  /** {@link Scope.made} of the one that has said so. */
  made = 0
  /** What this process holds, up to what it may count on, until `leaseEnd`, by the monotonic clock. */
  lease = 0
  /** What the store says that it holds. */
  granted = 0
  leaseEnd = Number.NEGATIVE_INFINITY
  /** Of reservations that are open. */
  reserved = 0
  /** Settled, and in no commit yet; of that, what belongs to no record. */
  used = 0
  loose = 0
  /** In the commit that is under way. */
  sent = 0
  /** By all processes, as the store said last. */
  spent = 0
  /** What other leases held when the store said so last. */
  others = 0
  /** What was spent when this process forgot it: shown until the store has answered. */
  recalled = 0
  /** What requests wait for that have asked the store, and of that, what later requests must not take. */
  asked = 0
  kept = 0
  /** What was taken since the last commit, when that was (monotonic), and what will be taken until the answer of the next. */
  taken = 0
  committed = Number.NEGATIVE_INFINITY
  expected = 0
  /** What one request took last: a first commit takes as much for the stages that follow. */
  typical = 1
  /** Last use, monotonic. */
  touched = 0
  /** Number of the commit that answered last, and whether the store granted less than it asked for. */
  heard = 0
  isScarce = false
  /** The number of the last batch that has counted it, and its place there. */
  batch = 0
  place = 0
  /** Whether it waits for the next commit, and is part of the one under way. */
  dirty = false
  flying = false
  /** The next commit gives it back, although the store is not shared. */
  leaving = false
  /** Forgotten: a meter that still has it gets a new one. */
  gone = false

  #shown = { bound: Number.NaN, text: '' }

  constructor(name: string, unit: Unit, span: Span | undefined, bound: number, isShared: boolean) {
    this.name = name
    this.unit = unit
    this.#keptMs = unit === 'budget' && isShared ? BUDGET_KEPT_MS : RATE_KEPT_MS
    this.span = span ?? PLACE
    this.bound = bound
  }

  /** The bound in digits. */
  get boundText(): string {
    const { bound } = this
    if (bound !== this.#shown.bound) this.#shown = { bound, text: wholeText(bound) }
    return this.#shown.text
  }

  /** Whether it is held and given back, and never spent. */
  get isPlace(): boolean {
    return this.span === PLACE
  }

  /** Whether the lease covers this much more. Nothing always is: what is free passes where a budget is used up. */
  covers(amount: number, monotonic: number): boolean {
    return amount === 0 || (this.lease - this.used - this.reserved - this.kept >= amount && monotonic < this.leaseEnd)
  }

  /** Whether the store's answer of this number had no room for it. Where it granted all, later requests took it here: ask again. */
  isRefused(amount: number, number: number | undefined, monotonic: number): boolean {
    return this.heard === number && this.isScarce && !this.gone && !this.covers(amount, monotonic)
  }

  /** Whether, by what this process knows, the bound has room for it, apart from what other leases hold. */
  allows(amount: number): boolean {
    return this.spent + this.sent + this.used + this.reserved + amount <= this.bound
  }

  /** A reload may lower the bound: what the lease holds beyond it is not used. Whether the next commit has to give it back. */
  setBound(bound: number, made: number): boolean {
    this.bound = bound
    this.made = made
    const most = Math.max(0, bound - this.spent - this.sent)
    if (this.lease <= most) return false
    this.lease = most
    return true
  }

  /** What is known of the window before helps to guess what requests will take. */
  follow(before: Account | undefined): void {
    if (before === undefined || before === this || this.heard > 0) return
    if (before.name === this.name) this.recalled = before.spentShown
    if (before.made > this.made) this.setBound(before.bound, before.made)
    this.typical = before.typical
    this.expected = before.expected
  }

  /** A commit contains it: what was taken since the last one says how much will be taken. */
  foresee(monotonic: number): void {
    const elapsed = Math.max(PACE_MS, monotonic - this.committed)
    const before = elapsed < FORGETS_MS ? this.expected / 2 : 0
    this.expected = Math.max((this.taken * 2 * PACE_MS) / elapsed, before)
    this.committed = monotonic
    this.taken = 0
  }

  /** What may be taken until the answer of the next commit. Places come back: at most as many as are taken now. */
  get ahead(): number {
    return Math.max(this.typical, this.isPlace ? Math.min(this.reserved, this.expected) : this.expected)
  }

  /** Whether its window is so short that what this process does not use has to go back within it. */
  get isShort(): boolean {
    return this.span.end - this.span.start <= FORGETS_MS * 10
  }

  /** What is spent, settled amounts included that the store does not know yet. */
  get spentHere(): number {
    return this.spent + this.sent + this.used
  }

  /** The same for clients, who see it also while the store was not asked again. */
  get spentShown(): number {
    return this.heard > 0 ? this.spentHere : Math.max(this.recalled, this.spentHere)
  }

  /** Room by what this process knows: what is reserved here and held by others takes some. */
  get left(): number {
    return Math.max(0, this.bound - this.spentShown - this.others - this.reserved)
  }

  /** The end of its window, milliseconds since the epoch; undefined for places and totals. */
  get endsAt(): number | undefined {
    return this.span.label === '' ? undefined : this.span.end
  }

  /** The store says it apart from a commit, and knows of all that this process has settled. */
  learn({ spent, held }: Tally): void {
    this.spent = spent
    this.others = Math.max(0, held - this.granted)
    this.recalled = spent
  }

  /** Whether nothing is lost when this process forgets it, apart from its lease. */
  get isSettled(): boolean {
    return this.reserved === 0 && this.used === 0 && this.asked === 0 && !this.dirty && !this.flying
  }

  /** When the store may forget it: late settlements extend it. */
  expires(now: number): number {
    return (this.isPlace ? now : Math.max(this.span.end, now)) + this.#keptMs
  }
}

/** `key:alice budget day 2026-11-23`, `group:research in_flight` */
export function accountName(
  scope: Pick<Scope, 'type' | 'name'>,
  unit: Unit,
  window?: Bound['window'],
  span?: Span,
): string {
  const nameWith = (holder: string): string => {
    const parts = [`${scope.type}:${visible(holder)}`, unit, window, span?.label]
    return parts.filter(part => part !== undefined && part !== '').join(' ')
  }
  const { name } = scope
  const whole = nameWith(name.length > MAX_NAME_CHARS ? shortened(name) : name)
  return isAccount(whole) ? whole : nameWith(shortened(name))
}

/** Its beginning and a digest. */
function shortened(name: string): string {
  return `${name.slice(0, 32)}~${createHash('sha256').update(name).digest('base64url')}`
}

/** As visible ASCII: other characters are percent-encoded. */
function visible(name: string): string {
  return name.replace(/[^\x21-\x7e]|%/gu, found => encodeURIComponent(Buffer.from(found).toString()))
}
