import type { Accounts, LeaseChange } from '../../core/accounts.js'
import { type Peers, topic } from '../../core/peers.js'

/** Changes of the accounts in which a process's leases hold something. */
interface HeldAccounts {
  /** The name of all its leases. */
  readonly lease: string
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** It has given everything back. */
  readonly isOver?: boolean
}

/** A worker says so to its supervisor, which gives the leases back if the worker dies. */
export const HELD = topic<HeldAccounts>('limits: held')

/** Names in one message. */
const MAX_NAMES = 10_000

/** Reports which accounts this process holds leases of, before it takes them. */
export class Estate {
  readonly #peers: Peers
  readonly #lease: string
  #added: string[] = []
  #removed: string[] = []

  constructor(peers: Peers, lease: string) {
    this.#peers = peers
    this.#lease = lease
  }

  add(name: string): void {
    this.#added.push(name)
    this.#soon()
  }

  remove(name: string): void {
    this.#removed.push(name)
    this.#soon()
  }

  close(): void {
    this.#peers.report(HELD, { lease: this.#lease, added: [], removed: [], isOver: true })
  }

  #soon(): void {
    const count = this.#added.length + this.#removed.length
    if (count === 1) queueMicrotask(() => this.#report())
    else if (count >= MAX_NAMES) this.#report()
  }

  #report(): void {
    if (this.#added.length + this.#removed.length === 0) return
    this.#peers.report(HELD, { lease: this.#lease, added: this.#added, removed: this.#removed })
    this.#added = []
    this.#removed = []
  }
}

/** How long an account is kept that nothing was known of. */
const KEPT_MS = 60_000

/**
 * Gives back what the leases of a process hold that is no more. At most `MAX_COMMIT.leases` names. `now`: milliseconds since the
 * epoch, of a clock that does not jump.
 */
export async function giveBack(
  accounts: Accounts,
  lease: string,
  names: readonly string[],
  commit: { readonly writer: string; readonly number: number; readonly now: number },
): Promise<void> {
  const { now } = commit
  const nothing = { lease, expires: now + KEPT_MS, bound: 0, spend: 0, hold: 0, until: now }
  const leases: readonly LeaseChange[] = names.map(account => ({ account, ...nothing }))
  await accounts.commit({ ...commit, remembered: now + KEPT_MS, leases, entries: [] })
}
