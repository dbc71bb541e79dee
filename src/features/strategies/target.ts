import { LruCache } from '../../core/lru.js'
import type { Exchange } from '../../core/plan.js'
import { nameOf } from '../../core/rendezvous.js'
import { PeakEwma } from './peak-ewma.js'

/** Targets that are known at a time; those that are no longer asked go first. */
const MAX_TARGETS = 10_000
/** What one counts for that has attempts under way and has never answered, milliseconds. */
const UNKNOWN_MS = 1000
/** What a failure counts for at least, so that a target that refuses at once does not look fast; milliseconds. */
const FAILURE_MS = 1000
const MAX_MS = 60_000

/** What is known of a model at an upstream, from the attempts of models that have a strategy. */
export class Target {
  readonly upstream: string
  /** Attempts under way. */
  inFlight = 0
  /** Time to the first byte of streams, and of whole answers. */
  readonly #streams = new PeakEwma()
  readonly #wholes = new PeakEwma()

  constructor(upstream: string) {
    this.upstream = upstream
  }

  answered(milliseconds: number, isStream: boolean, now: number): void {
    this.#of(isStream).observe(milliseconds, now)
  }

  /** It did not answer, or not well: it counts as twice as slow as it was. */
  failed(milliseconds: number, isStream: boolean, now: number): void {
    const time = this.#of(isStream)
    time.observe(Math.min(MAX_MS, Math.max(milliseconds, FAILURE_MS, 2 * time.value(now))), now)
  }

  /** It was given up before it answered: it is at least as slow as that. */
  waited(milliseconds: number, isStream: boolean, now: number): void {
    const time = this.#of(isStream)
    if (milliseconds > time.value(now)) time.observe(milliseconds, now)
  }

  /** The time that another attempt is likely to wait, milliseconds; only good for comparison. */
  cost(isStream: boolean, now: number): number {
    const known = this.#of(isStream).value(now)
    return (known === 0 && this.inFlight > 0 ? UNKNOWN_MS : known) * (this.inFlight + 1)
  }

  /** Estimated time to the first byte, milliseconds; 0: not known. */
  time(isStream: boolean, now: number): number {
    return this.#of(isStream).value(now)
  }

  #of(isStream: boolean): PeakEwma {
    return isStream ? this.#streams : this.#wholes
  }
}

/** The targets of this process. They survive reloads. */
export class Targets {
  readonly #known = new LruCache<Target>(MAX_TARGETS / 2)
  readonly #ofExchange = new WeakMap<Exchange, Target>()

  of(exchange: Exchange): Target {
    const known = this.#ofExchange.get(exchange)
    if (known !== undefined) return known
    const name = `${exchange.upstream.definition}\0${nameOf(exchange)}`
    const target = this.#known.get(name) ?? new Target(exchange.upstream.name)
    this.#known.set(name, target)
    this.#ofExchange.set(exchange, target)
    return target
  }

  /** Forgets the targets of upstreams that are gone. */
  keep(upstreams: { has(name: string): boolean }): void {
    this.#known.prune(({ upstream }) => !upstreams.has(upstream))
  }
}
