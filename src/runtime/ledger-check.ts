import type { ScopeLimits, ScopeType, Window } from '../core/bounds.js'
import type { Config } from '../core/config.js'
import { accountName } from '../features/limits/account.js'
import { Windows } from '../features/limits/windows.js'
import type { LedgerPlaces, LedgerStore } from './ledger-store.js'

/** Most accounts whose entries are added up at once; more of them are compared in several passes. */
const MAX_ACCOUNTS = 100_000
/** How often entries that are written meanwhile are read before an account counts as moving. */
const MAX_LOOKS = 10
/** Differences, and windows that are not covered, that are reported one by one. */
const MAX_DIFFERENCES = 1000
const MAX_WINDOWS = 100

/** An account that its entries do not explain. Millionths of a USD. */
export interface Difference {
  readonly account: string
  /** What the entries add up to. */
  readonly entries: number
  /** What the account has spent. */
  readonly spent: number
}

export interface LedgerReport {
  readonly entries: number
  readonly days: number
  /** Accounts that were compared: those that agree, and those that differ. */
  readonly accounts: number
  readonly differing: number
  /** The first of them. */
  readonly differences: readonly Difference[]
  /** Accounts that requests changed all the while: nothing contradicts them. */
  readonly moving: number
  /** Accounts whose window began on a day that has been dropped, so that some of their entries are missing. */
  readonly uncovered: number
  /** The windows of these, the first ones, each with its accounts: `month 2026-11`, `total`. */
  readonly uncoveredWindows: Readonly<Record<string, number>>
  /** The last day that has been dropped. */
  readonly droppedUntil: string | undefined
  /** Accounts of windows that have ended, which the store has forgotten. */
  readonly forgotten: number
}

interface Options {
  readonly timeZone: string
  /** Accounts that must agree also where no entry names them. */
  readonly expected?: readonly string[]
  readonly maxAccounts?: number
}

/**
 * Compares what entries charged to accounts with what these have spent. A gateway may write meanwhile: an account is only
 * called different where no moment between two readings of it explains the sum.
 */
export async function checkLedger(ledger: LedgerStore, options: Options): Promise<LedgerReport> {
  const check = new Check(ledger, options)
  while (!check.done) await check.pass()
  return check.report
}

/** The accounts of the budgets that a configuration declares, in the windows of this moment. */
export function budgetAccounts(
  { keys, groups, models, upstreams }: Pick<Config, 'keys' | 'groups' | 'models' | 'upstreams'>,
  timeZone: string,
): readonly string[] {
  const windows = new Windows(timeZone)
  const now = Date.now()
  const namesOf = (type: ScopeType, holders: Readonly<Record<string, { readonly limits?: ScopeLimits }>>): string[] =>
    Object.entries(holders).flatMap(([name, { limits }]) =>
      (limits?.bounds ?? []).flatMap(({ unit, window }) =>
        unit === 'budget' ? [accountName({ type, name }, unit, window, windows.at(window, now))] : [],
      ),
    )
  return [
    ...namesOf('key', keys),
    ...namesOf('group', groups),
    ...namesOf('model', models),
    ...namesOf('upstream', upstreams),
  ]
}

/** Hashes of accounts are whole numbers below it. */
const HASHES = 2 ** 32

class Check {
  readonly #ledger: LedgerStore
  readonly #timeZone: string
  readonly #windows: Windows
  readonly #expected: readonly string[]
  readonly #maxAccounts: number
  readonly #differences: Difference[] = []
  readonly #uncovered = new Map<string, number>()
  readonly #counts = { accounts: 0, differing: 0, moving: 0, uncovered: 0, forgotten: 0 }
  #droppedUntil: string | undefined
  #entries = 0
  #days = 0
  /** Hashes of the accounts of this pass: from, and below. */
  #from = 0
  #below = HASHES

  constructor(ledger: LedgerStore, { timeZone, expected = [], maxAccounts = MAX_ACCOUNTS }: Options) {
    this.#ledger = ledger
    this.#timeZone = timeZone
    this.#windows = new Windows(timeZone)
    this.#expected = expected
    this.#maxAccounts = maxAccounts
  }

  get done(): boolean {
    return this.#from === HASHES
  }

  get report(): LedgerReport {
    const counts = { entries: this.#entries, days: this.#days, ...this.#counts }
    const differences = this.#differences.toSorted((a, b) => (a.account < b.account ? -1 : 1))
    const uncoveredWindows = Object.fromEntries(this.#uncovered)
    return { ...counts, differences, uncoveredWindows, droppedUntil: this.#droppedUntil }
  }

  /** Reads the whole ledger for as many accounts as fit. */
  async pass(): Promise<void> {
    const places: LedgerPlaces = new Map()
    const sums = new Map<string, number>()
    for (const name of this.#expected) this.add(sums, name, 0)
    this.#entries = await this.read(sums, places)
    this.#days = places.size
    // After the entries: days that were dropped meanwhile are known here.
    this.#droppedUntil = await this.#ledger.droppedUntil()
    await this.compare(sums, places)
    this.#from = this.#below
    this.#below = HASHES
  }

  /** Adds what is behind the places, and resolves with the number of entries. */
  private async read(sums: Map<string, number>, places: LedgerPlaces): Promise<number> {
    let entries = 0
    for await (const { records } of this.#ledger.pages({}, places)) {
      entries += records.length
      for (const { charges } of records) {
        for (const [account, charge] of Object.entries(charges)) this.add(sums, account, charge)
      }
    }
    return entries
  }

  private add(sums: Map<string, number>, account: string, charge: number): void {
    const hash = hashOf(account)
    if (hash < this.#from || hash >= this.#below) return
    sums.set(account, (sums.get(account) ?? 0) + charge)
    // Fewer accounts fit than were hoped for: the upper half waits for another pass.
    while (sums.size > this.#maxAccounts) {
      this.#below = Math.ceil((this.#from + this.#below) / 2)
      for (const name of sums.keys()) if (hashOf(name) >= this.#below) sums.delete(name)
    }
  }

  private async compare(sums: Map<string, number>, places: LedgerPlaces): Promise<void> {
    let open = [...sums.keys()]
    for (let look = 1; open.length > 0; look++) {
      const before = await this.#ledger.tallies(open)
      this.#entries += await this.read(sums, places)
      const after = await this.#ledger.tallies(open)
      const isLast = look === MAX_LOOKS
      open = open.filter((account, at) => {
        const [first = 0, last = 0] = [before[at]?.spent, after[at]?.spent]
        return !this.decide({ account, entries: sums.get(account) ?? 0, spent: last }, first, isLast)
      })
    }
  }

  /** Whether the account needs no further look. `first` is what it had spent before the last entries were read. */
  private decide(found: Difference, first: number, isLast: boolean): boolean {
    const { account, entries, spent } = found
    const isMoving = first < spent && entries >= first && entries <= spent
    if (isMoving && !isLast) return false
    const counts = this.#counts
    if (isMoving) counts.moving++
    else if (spent < entries && spent === 0 && hasEnded(account, this.#windows)) counts.forgotten++
    else if (entries < spent && this.isUncovered(account)) this.countUncovered(account)
    else {
      counts.accounts++
      if (entries !== spent) {
        counts.differing++
        if (this.#differences.length < MAX_DIFFERENCES) this.#differences.push(found)
      }
    }
    return true
  }

  private countUncovered(account: string): void {
    this.#counts.uncovered++
    const window = account.slice(account.indexOf(' budget ') + ' budget '.length)
    const known = this.#uncovered.get(window)
    if (known !== undefined || this.#uncovered.size < MAX_WINDOWS) this.#uncovered.set(window, (known ?? 0) + 1)
  }

  /** Whether entries of the account's window may have been dropped. Time zones differ by up to a day from that of the ledger. */
  private isUncovered(account: string): boolean {
    if (this.#droppedUntil === undefined) return false
    const day = windowOf(account).slice(0, 10)
    const first = day.length === 7 ? `${day}-01` : day
    const spare = this.#timeZone === 'UTC' ? 0 : DAY_MS
    return first <= new Date(Date.parse(this.#droppedUntil) + spare).toISOString().slice(0, 10)
  }
}

const DAY_MS = 86_400_000

/** The window at the end of an account's name: `2026-11`, `2026-11-23T10:41`; empty for what has no end. */
function windowOf(account: string): string {
  return / (\d{4}-\d\d[-\dT:]*)$/.exec(account)?.[1] ?? ''
}

/** Whether the account's window is over. Labels of windows are in the order of time. */
function hasEnded(account: string, windows: Windows): boolean {
  const [, kind, label] = / (second|minute|hour|day|month) (\S+)$/.exec(account) ?? []
  return kind !== undefined && label !== undefined && label < windows.at(kind as Window, Date.now()).label
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
