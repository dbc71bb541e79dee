import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from '../../core/accounts.js'
import type { Peers } from '../../core/peers.js'
import { SteadyClock, SYSTEM_CLOCK } from '../../features/limits/clock.js'
import { giveBack, HELD } from '../../features/limits/estate.js'
import type { Log } from '../../sinks/log.js'
import { messageOf } from '../problems.js'

/** Accounts of one worker; leases of others come back by time. */
const MAX_ACCOUNTS = 100_000
/** Accounts in one commit. */
const MAX_NAMES = 500
/** A commit that the worker had under way may arrive after its death: what it took is looked for again. */
const AGAIN_MS = 2000

interface Estate {
  readonly lease: string
  readonly names: Set<string>
}

/** What workers hold of the store's accounts; given back as soon as one of them dies. */
export class Leases {
  readonly #accounts: Accounts
  readonly #log: Log
  readonly #estates = new Map<number, Estate>()
  readonly #writer = randomUUID()
  readonly #clock = new SteadyClock(SYSTEM_CLOCK)
  readonly #closed = new AbortController()
  #number = 0
  /** One commit after the other. */
  #last: Promise<void> = Promise.resolve()

  constructor(accounts: Accounts, peers: Peers, log: Log) {
    this.#accounts = accounts
    this.#log = log
    peers.on(HELD, ({ lease, added, removed, isOver }, from) => {
      if (isOver === true) {
        this.#estates.delete(from)
        return
      }
      const known = this.#estates.get(from)
      const { names } = known?.lease === lease ? known : this.#open(from, lease)
      for (const name of removed) names.delete(name)
      for (const name of added) if (names.size < MAX_ACCOUNTS) names.add(name)
    })
  }

  /** The worker of that number is no more. */
  lost(number: number): void {
    const estate = this.#estates.get(number)
    this.#estates.delete(number)
    if (estate === undefined || estate.names.size === 0) return
    const free = async (): Promise<void> => {
      await this.#free(estate)
      await delay(AGAIN_MS, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined)
      await this.#free(estate)
    }
    free().catch((error: unknown) => {
      this.#log.warn({ worker: number, error: messageOf(error) }, 'leases of a worker come back within a minute')
    })
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    this.#closed.abort()
    await this.#last
  }

  #open(from: number, lease: string): Estate {
    const estate = { lease, names: new Set<string>() }
    this.#estates.set(from, estate)
    return estate
  }

  async #free({ lease, names }: Estate): Promise<void> {
    const all = [...names]
    for (let at = 0; at < all.length; at += MAX_NAMES) {
      const turn = this.#last.then(async () => {
        const commit = { writer: this.#writer, number: ++this.#number, now: this.#clock.now() }
        await giveBack(this.#accounts, lease, all.slice(at, at + MAX_NAMES), commit)
      })
      this.#last = turn.catch(() => undefined)
      await turn
    }
  }
}
