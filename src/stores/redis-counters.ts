import {
  type Counter,
  type Counters,
  checkCount,
  checkPlace,
  checkValue,
  type Entry,
  isNamespace,
  isPlace,
  type Ledger,
  NOTHING_COUNTED,
  type Place,
  type Reservation,
  type Settlement,
  StoreError,
  type Tally,
} from '../core/store.js'
import { listOf, numberOf, textOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import type { RedisKeys } from './redis-keys.js'
import { APPEND, READ_COUNTER, RESERVE, SETTLE } from './redis-scripts.js'

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

/** Ledgers as streams, whose identifiers are the sequence numbers. */
export class RedisLedger implements Ledger {
  readonly #connection: RedisConnection
  readonly #keys: RedisKeys

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection
    this.#keys = keys
  }

  async append(namespace: string, owner: string, value: Uint8Array): Promise<number> {
    checkPlace({ namespace, owner, key: '-' })
    checkValue(value)
    const answer = await this.#connection.run(APPEND, this.#keys.ledger(namespace), owner, Buffer.from(value))
    const sequence = numberOf(answer)
    if (sequence === undefined) throw new StoreError('unavailable', 'the store did not number an entry')
    return sequence
  }

  async entries(
    namespace: string,
    { after = 0, limit }: { readonly after?: number; readonly limit: number },
  ): Promise<readonly Entry[]> {
    this.#connection.checkOpen()
    if (!isNamespace(namespace)) return []
    const [entries] = this.#keys.ledger(namespace)
    const answer = await this.#connection.send('xrange', entries, `${after + 1}-0`, '+', 'COUNT', limit)
    return listOf(answer).flatMap(item => {
      const [id, fields] = listOf(item)
      const [, owner, , value] = listOf(fields)
      const sequence = Number.parseInt(textOf(id) ?? '', 10)
      return Buffer.isBuffer(value) ? [{ sequence, owner: textOf(owner) ?? '', value }] : []
    })
  }
}
