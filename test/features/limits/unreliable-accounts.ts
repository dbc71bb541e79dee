import type { Accounts, Commit, LeaseState } from '../../../src/core/accounts.js'
import { settled } from './virtual-time.js'

/** What becomes of a commit: it is applied, it is lost, its answer is lost, or both its answer and itself come late or never. */
export type Fate = 'ok' | 'lost' | 'answer_lost' | 'hangs' | 'hangs_applied'

/** What a store has applied for one writer, as seen from outside. */
export interface Applied {
  /** What was added to an account. */
  readonly spent: Map<string, number>
  /** What its lease holds, and until when by the store's clock. */
  readonly held: Map<string, { amount: number; until: number }>
}

/** One process's way to a shared store, which may fail. */
export class UnreliableAccounts implements Accounts {
  fate: Fate = 'ok'
  /** The process is dead: what it sends does not arrive. */
  dead = false
  /** How long an answer takes, in turns. */
  commits = 0
  readonly applied: Applied = { spent: new Map(), held: new Map() }
  readonly numbers: number[] = []
  readonly #store: Accounts
  #last = 0
  #busy = 0
  /** What is wrong with how it was used. */
  readonly faults: string[] = []

  constructor(store: Accounts) {
    this.#store = store
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    this.commits++
    const { fate } = this
    if (this.dead) return new Promise(() => {})
    this.#check(commit)
    if (fate === 'lost') throw new Error('the commit is lost')
    if (fate === 'hangs') return new Promise(() => {})
    this.#busy++
    const states = await this.#store.commit(commit)
    this.#note(commit, states)
    await settled()
    this.#busy--
    if (this.dead || fate === 'hangs_applied') return new Promise(() => {})
    if (fate === 'answer_lost') throw new Error('the answer is lost')
    return states
  }

  read: Accounts['read'] = (names, now) => this.#store.read(names, now)
  entries: Accounts['entries'] = (day, range) => this.#store.entries(day, range)
  days: Accounts['days'] = () => this.#store.days()
  dropDay: Accounts['dropDay'] = day => this.#store.dropDay(day)

  #check({ number, leases, writer }: Commit): void {
    if (writer.startsWith('task/')) return
    if (number !== this.#last && number !== this.#last + 1) this.faults.push(`number ${number} after ${this.#last}`)
    if (this.#busy > 0) this.faults.push('two commits at once')
    const keys = leases.map(({ account, lease }) => `${account} ${lease}`)
    if (new Set(keys).size < keys.length) this.faults.push('an account twice in one commit')
    for (const { spend, hold, bound, account } of leases)
      for (const amount of [spend, hold, bound])
        if (!Number.isSafeInteger(amount) || amount < 0) this.faults.push(`${amount} of ${account}`)
  }

  #note({ number, leases, writer }: Commit, states: readonly LeaseState[]): void {
    const isOwn = !writer.startsWith('task/')
    const isNew = isOwn && number > this.#last
    if (isNew) this.#last = number
    leases.forEach(({ account, spend, until, lease }, at) => {
      if (!isNew || lease !== writer) return
      this.applied.spent.set(account, (this.applied.spent.get(account) ?? 0) + spend)
      this.applied.held.set(account, { amount: states[at]?.lease ?? 0, until })
    })
  }
}
