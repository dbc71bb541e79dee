import {
  type Accounts,
  type Commit,
  checkCommit,
  isAccount,
  isDay,
  type LeaseState,
  NOTHING_SPENT,
  type StoredEntry,
  type Tally,
} from '../core/accounts.js'
import { StoreError } from '../core/store.js'
import { COMMIT, DROP_DAY, READ_ACCOUNTS } from './redis-account-scripts.js'
import { listOf, numberOf, textOf, textsOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import type { RedisKeys } from './redis-keys.js'

/** Added to the time until which a writer is remembered, because clocks differ, milliseconds. */
const CLOCK_MARGIN_MS = 3_600_000
/** Accounts that one script reads: no other command is served meanwhile. */
const MAX_ACCOUNTS_PER_READ = 500

/** Accounts as hashes in one slot: a commit is one script. */
export class RedisAccounts implements Accounts {
  readonly #connection: RedisConnection
  readonly #keys: RedisKeys

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection
    this.#keys = keys
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    this.#connection.checkOpen()
    checkCommit(commit)
    const { writer, number, remembered, now, leases, entries } = commit
    const days = [...new Set(entries.map(({ day }) => day))]
    const keys = [
      this.#keys.writer(writer),
      this.#keys.days(),
      ...leases.flatMap(({ account }) => this.#keys.account(account)),
      ...days.map(day => this.#keys.day(day)),
    ]
    const values = [
      ...[now, number, remembered + CLOCK_MARGIN_MS, leases.length],
      ...leases.map(
        ({ lease, expires, bound, spend, hold, until }) => `${lease} ${expires} ${bound} ${spend} ${hold} ${until}`,
      ),
      ...[days.length, ...days],
      ...entries.flatMap(({ day, value }) => [days.indexOf(day) + 1, Buffer.from(value)]),
    ]
    const answers = numbersOf(await this.#connection.run(COMMIT, keys, ...values), 3 * leases.length)
    return leases.map((_, n) => ({
      spent: answers[3 * n] ?? 0,
      held: answers[3 * n + 1] ?? 0,
      lease: answers[3 * n + 2] ?? 0,
    }))
  }

  async read(names: readonly string[], now: number): Promise<readonly Tally[]> {
    this.#connection.checkOpen()
    const tallies = new Map<string, Tally>()
    const valid = [...new Set(names.filter(isAccount))]
    for (let from = 0; from < valid.length; from += MAX_ACCOUNTS_PER_READ) {
      const group = valid.slice(from, from + MAX_ACCOUNTS_PER_READ)
      const keys = group.flatMap(name => this.#keys.account(name))
      const answers = numbersOf(await this.#connection.run(READ_ACCOUNTS, keys, now), keys.length)
      for (const [n, name] of group.entries()) {
        tallies.set(name, { spent: answers[2 * n] ?? 0, held: answers[2 * n + 1] ?? 0 })
      }
    }
    return names.map(name => tallies.get(name) ?? NOTHING_SPENT)
  }

  async entries(
    day: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]> {
    this.#connection.checkOpen()
    if (!isDay(day)) return []
    const range = [`${after + 1}-0`, '+', 'COUNT', limit] as const
    const answer = await this.#connection.send('xrange', this.#keys.day(day), ...range)
    return listOf(answer).flatMap(item => {
      const [id, fields] = listOf(item)
      const [, value] = listOf(fields)
      const sequence = Number.parseInt(textOf(id) ?? '', 10)
      return Buffer.isBuffer(value) ? [{ sequence, value }] : []
    })
  }

  async days(): Promise<readonly string[]> {
    const days = textsOf(await this.#connection.send('smembers', this.#keys.days()))
    return days.filter(isDay).sort()
  }

  async dropDay(day: string): Promise<void> {
    this.#connection.checkOpen()
    if (!isDay(day)) return
    await this.#connection.run(DROP_DAY, [this.#keys.day(day), this.#keys.days()], day)
  }
}

function numbersOf(answer: unknown, count: number): readonly number[] {
  const numbers = listOf(answer).flatMap(item => numberOf(item) ?? [])
  if (numbers.length === count) return numbers
  throw new StoreError('unavailable', 'the store answered a commit with something else')
}
