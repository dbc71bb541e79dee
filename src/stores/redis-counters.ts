import {
  type Counter,
  type Counters,
  checkCount,
  isPlace,
  NOTHING_COUNTED,
  type Place,
  type Reservation,
  type Settlement,
  StoreError,
  type Tally,
} from '../core/store.js'
import { listOf, numberOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import type { RedisKeys } from './redis-keys.js'
import { READ_COUNTER, RESERVE, SETTLE } from './redis-scripts.js'

/** Counters: each in its own slot, each step one script. */
export class RedisCounters implements Counters {
  readonly #connection: RedisConnection
  readonly #keys: RedisKeys

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection
    this.#keys = keys
  }

  async reserve(counter: Counter, reservation: Reservation): Promise<Tally | undefined> {
    checkCount(counter, reservation)
    const { id, amount, ceiling, now, expires } = reservation
    const values = [now, counter.expires, id, amount, ceiling, expires] as const
    return tallyOf(await this.#connection.run(RESERVE, this.#keys.counter(counter), ...values))
  }

  async settle(counter: Counter, settlement: Settlement): Promise<Tally | undefined> {
    checkCount(counter, settlement)
    const { id, amount, now, until } = settlement
    const values = [now, counter.expires, id, amount, until] as const
    return tallyOf(await this.#connection.run(SETTLE, this.#keys.counter(counter), ...values))
  }

  async read(counter: Place, now: number): Promise<Tally> {
    this.#connection.checkOpen()
    if (!isPlace(counter)) return NOTHING_COUNTED
    const answer = await this.#connection.run(READ_COUNTER, this.#keys.counter(counter), now)
    return tallyOf(answer) ?? NOTHING_COUNTED
  }
}

function tallyOf(answer: unknown): Tally | undefined {
  if (answer === null) return undefined
  const [spent, reserved] = listOf(answer).map(numberOf)
  if (spent === undefined || reserved === undefined) {
    throw new StoreError('unavailable', 'the store answered a counter with something else')
  }
  return { spent, reserved }
}
