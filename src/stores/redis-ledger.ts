import { checkPlace, checkValue, type Entry, isNamespace, type Ledger, StoreError } from '../core/store.js'
import { listOf, numberOf, textOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import type { RedisKeys } from './redis-keys.js'
import { APPEND } from './redis-scripts.js'

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
