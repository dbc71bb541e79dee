import { setTimeout as sleep } from 'node:timers/promises'
import type { Scope } from '../../../src/core/bounds.js'
import { Book } from '../../../src/features/limits/book.js'
import { claimOf, Reservation } from '../../../src/features/limits/reservation.js'
import { openStore } from '../../../src/runtime/stores.js'

// A gateway's book on a real store, which makes requests on command. Argument: the store's configuration as JSON.
// Messages in: { way: 'equal' | 'mixed', count, lanes }, or 'close'. Out: 'ready', what came of it, and 'closed'.

const store = await openStore(JSON.parse(process.argv[2] ?? ''))
const book = new Book(store.accounts, {
  isShared: true,
  isDurable: true,
  onFault: error => process.stderr.write(`${error}\n`),
})

const racers: Scope = {
  type: 'group',
  name: 'racers',
  limits: { bounds: [{ unit: 'budget', amount: 1_000_000, window: 'total' }], in_flight: 40 },
}

interface Run {
  readonly way: 'equal' | 'mixed'
  readonly count: number
  readonly lanes: number
}

const totals = { passed: 0, refused: 0, used: 0, most: 0 }
let running = 0
let ids = 0

async function request(way: Run['way']): Promise<void> {
  const n = ++ids
  const worst = way === 'equal' ? 10_000 : 2000 + ((n * 7919) % 9000)
  const amounts = way === 'equal' ? { budget: worst } : { budget: worst, in_flight: 1 }
  const reservation = await book.reserve([claimOf([racers], amounts)])
  if (!(reservation instanceof Reservation)) {
    totals.refused++
    return
  }
  totals.passed++
  totals.most = Math.max(totals.most, ++running)
  await sleep(n % 7)
  // Some go over into a second attempt, some are aborted, and most use less than they might.
  const isExtended = way === 'mixed' && n % 5 === 0 && (await book.extend(reservation, { budget: 500 })) === undefined
  const share = way === 'equal' ? 1 : ([0, 0.3, 1][n % 3] as number)
  const budget = Math.floor((worst + (isExtended ? 500 : 0)) * share)
  const record = { id: `${process.pid}/${n}`, at: Date.now(), key: 'racer', model: 'm', upstream: 'u', route: 'r' }
  running--
  totals.used += budget
  book.settle(reservation, { budget }, { ...record, units: {}, cost: budget, outcome: 'ok', generation: 1 })
  await book.flushed()
}

async function run({ way, count, lanes }: Run): Promise<void> {
  let left = count
  const lane = async (): Promise<void> => {
    while (left-- > 0) await request(way)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  process.send?.(totals)
}

process.on('message', async (message: Run | 'close') => {
  if (message !== 'close') return run(message)
  await book.close()
  await store.close()
  process.send?.('closed', () => process.disconnect())
})
process.send?.('ready')
