import { CredentialFault } from '../net/signer.js'

/** What was fetched, and until when it is valid: milliseconds since the epoch. */
export interface Fetched<T> {
  readonly value: T
  readonly expires: number
}

/** A token is renewed so long before its end, but not before four fifths of its life. */
const MAX_AHEAD_MS = 5 * 60_000
const AHEAD_SHARE = 0.2
/** A token is not used in the last moment of its life: the request still has to arrive. */
const LAST_MOMENT_MS = 1000
/** After a failure nothing is fetched for so long; it doubles with each further one. */
const FIRST_PAUSE_MS = 1000
const LAST_PAUSE_MS = 30_000
const MAX_DOUBLINGS = 10
/** A credential that an upstream refuses is renewed so often at most. */
const MIN_RENEWAL_MS = 10_000

/**
 * One token in memory. It is fetched once for all who wait, and ahead of its end, while the old one still serves. What cannot be
 * renewed serves until its end.
 */
export class TokenCache<T> {
  /** Called when fetching begins to fail, and when it succeeds again (undefined). */
  onChange: (fault: CredentialFault | undefined) => void = () => undefined
  readonly #fetch: () => Promise<Fetched<T>>
  /** Milliseconds since the epoch. */
  readonly #clock: () => number
  #token: Fetched<T> | undefined
  #renewAt = 0
  /** Until then the token is as good as new, and nothing else is looked at. */
  #calmUntil = 0
  #fetching: Promise<T> | undefined
  #fault: CredentialFault | undefined
  #failures = 0
  /** Nothing is fetched before; milliseconds since the epoch. */
  #pausedUntil = 0
  #renewedAt = Number.NEGATIVE_INFINITY

  /** `fetch` must end in time, and reject with what may be logged. */
  constructor(fetch: () => Promise<Fetched<T>>, clock: () => number = Date.now) {
    this.#fetch = fetch
    this.#clock = clock
  }

  /** The token of the moment. Rejects, or throws, with {@link CredentialFault}. */
  get(): T | Promise<T> {
    const now = this.#clock()
    const token = this.#token
    if (token !== undefined && now < this.#calmUntil) return token.value
    if (token === undefined || now >= token.expires - LAST_MOMENT_MS) return this.#fresh(now)
    if (now >= this.#renewAt && now >= this.#pausedUntil) this.#fresh(now).catch(() => undefined)
    return token.value
  }

  /** Fetches another one than was refused, unless that was done a moment ago. Resolves with whether there is one. */
  async renew(refused: T | undefined): Promise<boolean> {
    const now = this.#clock()
    const last = this.#token
    // Many requests may have gone out with one token: the first refusal renews it for all of them.
    if (last !== undefined && refused !== undefined && last.value !== refused) return true
    if (this.#fetching === undefined && now < this.#renewedAt + MIN_RENEWAL_MS) return false
    this.#renewedAt = now
    await this.#fresh(now)
    return this.#token?.value !== last?.value
  }

  /** The token, if it is at hand. */
  get present(): T | undefined {
    return this.#token?.value
  }

  /** When the token begins to be renewed where it is asked for, milliseconds since the epoch. */
  get dueAt(): number | undefined {
    return this.#token && Math.max(this.#renewAt, this.#pausedUntil)
  }

  /** Why the last fetch failed. */
  get fault(): CredentialFault | undefined {
    return this.#fault
  }

  #fresh(now: number): Promise<T> {
    if (this.#fetching !== undefined) return this.#fetching
    if (now < this.#pausedUntil && this.#fault !== undefined) return Promise.reject(this.#fault)
    const fetching = this.#fetched().finally(() => {
      this.#fetching = undefined
    })
    this.#fetching = fetching
    return fetching
  }

  async #fetched(): Promise<T> {
    try {
      const token = await this.#fetch()
      const life = token.expires - this.#clock()
      if (life <= LAST_MOMENT_MS) throw new CredentialFault('the new credential has already expired: check the clocks')
      this.#token = token
      this.#renewAt = token.expires - Math.min(MAX_AHEAD_MS, life * AHEAD_SHARE)
      this.#calmUntil = Math.min(this.#renewAt, token.expires - LAST_MOMENT_MS)
      this.#failures = 0
      this.#pausedUntil = 0
      this.#note(undefined)
      return token.value
    } catch (cause) {
      const fault = cause instanceof CredentialFault ? cause : new CredentialFault(String(cause))
      this.#pausedUntil = this.#clock() + Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LAST_PAUSE_MS)
      this.#failures = Math.min(this.#failures + 1, MAX_DOUBLINGS)
      this.#note(fault)
      throw fault
    }
  }

  #note(fault: CredentialFault | undefined): void {
    const isOther = (fault === undefined) !== (this.#fault === undefined)
    this.#fault = fault
    if (isOther) this.onChange(fault)
  }
}
