import type { HealthRule, HealthState, Standing } from '../../core/health.js'
import { HalfWindows } from './half-windows.js'

/** Longest pause that an upstream may ask for, milliseconds. */
const MAX_ASKED_MS = 600_000
/** Largest share that is added to a pause by chance, so that gateways do not come back all at once. */
const JITTER = 0.2
/** After so many openings the pause has long reached any maximum. */
const MAX_OPENINGS = 32

/**
 * The circuit of one thing that can fail. Closed: all is well, failures are counted. Open: others are asked first, until a
 * moment. From then on half-open: one attempt shows whether it closes, or opens for twice as long.
 *
 * It learns only from attempts that have begun since it opened or closed. When it has closed again the first failure opens
 * it, until one attempt has ended well.
 */
export class Circuit {
  #failures = 0
  readonly #window = new HalfWindows()
  #standing: Standing | undefined
  /** Who shows, at the moment, whether it works again. */
  probe: object | undefined

  /** Absent as long as it has never opened. */
  get standing(): Standing | undefined {
    return this.#standing
  }

  get isOpen(): boolean {
    return this.#standing?.isOpen === true
  }

  get failures(): number {
    return this.#failures
  }

  state(now: number): HealthState {
    if (this.#standing?.isOpen !== true) return 'closed'
    return now < this.#standing.until ? 'open' : 'half_open'
  }

  /** Its first content has come: an answer, but not yet its end. */
  answered(now: number, begun: number, rule: HealthRule): void {
    if (!this.isOpen || !this.#isNew(begun)) return
    this.#close(now)
    // Streams of an upstream that comes back may still break off.
    this.#failures = rule.failures - 1
  }

  succeeded(now: number, begun: number, rule: HealthRule): void {
    if (this.isOpen) {
      if (!this.#isNew(begun)) return
      this.#close(now)
    } else if (this.#isOld(begun)) return
    this.#failures = 0
    this.#window.add(true, now, rule.window)
  }

  /** `random` from 0 to 1. `asked`: the pause that the upstream asked for, milliseconds; it then opens at once. */
  failed(now: number, begun: number, rule: HealthRule, reason: string, random: number, asked?: number): void {
    if (this.isOpen) {
      if (this.#isNew(begun)) this.#failedAgain(now, rule, reason, random, asked)
      return
    }
    // What began before it was well again says nothing new, unless it asks for a pause.
    if (asked === undefined && this.#isOld(begun)) return
    this.#failures++
    this.#window.add(false, now, rule.window)
    const isOften = this.#failures >= rule.failures || this.#exceedsRate(now, rule)
    if (asked === undefined && !isOften) return
    const { openings = 0, changed = Number.NEGATIVE_INFINITY } = this.#standing ?? {}
    const hasLasted = now - changed >= rule.max_cooldown
    this.#open(now, rule, reason, random, asked, hasLasted ? 0 : openings)
  }

  /** Another process knows better, or as well. */
  adopt(standing: Standing, now: number): void {
    if (this.#standing !== undefined && this.#standing.changed >= standing.changed) return
    // Clocks of other machines may be ahead, and what they ask for has a bound.
    const changed = Math.min(standing.changed, now)
    const until = Math.min(standing.until, now + MAX_ASKED_MS * (1 + JITTER))
    const openings = Math.min(Math.max(standing.openings, 1), MAX_OPENINGS)
    this.#standing = { ...standing, changed, until, openings }
    this.probe = undefined
    this.#failures = 0
    this.#window.clear()
  }

  /** Whether nothing of it is worth remembering. */
  isForgettable(now: number, rule: HealthRule): boolean {
    if (this.isOpen || this.#failures > 0 || this.#window.bad(now, rule.window) > 0) return false
    return this.#standing === undefined || now - this.#standing.changed >= rule.max_cooldown
  }

  #failedAgain(now: number, rule: HealthRule, reason: string, random: number, asked: number | undefined): void {
    const { until, openings } = this.#standing as Standing
    if (now >= until) this.#open(now, rule, reason, random, asked, openings)
    else if (asked !== undefined && now + asked > until) this.#open(now, rule, reason, random, asked, openings - 1)
  }

  #exceedsRate(now: number, { window, requests, rate }: HealthRule): boolean {
    const all = this.#window.all(now, window)
    return all >= requests && this.#window.bad(now, window) >= rate * all
  }

  #open(
    now: number,
    rule: HealthRule,
    reason: string,
    random: number,
    asked: number | undefined,
    openingsBefore: number,
  ): void {
    const grown = Math.min(rule.cooldown * 2 ** openingsBefore, Math.max(rule.cooldown, rule.max_cooldown))
    const pause = asked === undefined ? grown : Math.min(asked, MAX_ASKED_MS)
    const until = now + pause * (1 + JITTER * random)
    this.#standing = { isOpen: true, until, openings: Math.min(openingsBefore + 1, MAX_OPENINGS), changed: now, reason }
    this.probe = undefined
  }

  #close(now: number): void {
    this.#standing = { ...(this.#standing as Standing), isOpen: false, changed: now }
    this.probe = undefined
    this.#failures = 0
    this.#window.clear()
  }

  #isNew(begun: number): boolean {
    return begun >= (this.#standing?.changed ?? 0)
  }

  /** Of one that is closed: it began before that. */
  #isOld(begun: number): boolean {
    return this.#standing !== undefined && begun < this.#standing.changed
  }
}
