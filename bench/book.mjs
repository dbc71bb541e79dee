// What a request's bounds cost: reserve and settle for a key with requests, tokens, a budget and places, in a group with the
// same, beside one SHA-256 of a short text, which the check of a key costs too. Prints ratios within this run.
// usage: node bench/book.mjs [--quick]
import { createHash } from 'node:crypto'
import { Book } from '../dist/features/limits/book.js'
import { claimOf } from '../dist/features/limits/reservation.js'
import { MemoryAccounts } from '../dist/stores/memory-accounts.js'

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 1 : 5
const REQUESTS = isQuick ? 5000 : 100_000

const bounds = [
  { unit: 'requests', amount: 1e12, window: 'second' },
  { unit: 'tokens', amount: 1e14, window: 'minute' },
  { unit: 'budget', amount: 1e14, window: 'month' },
]
const scopes = [
  { type: 'key', name: 'alice', limits: { bounds, in_flight: 1000 } },
  { type: 'group', name: 'research', limits: { bounds, in_flight: 1000 } },
]
const admission = [claimOf(scopes, { requests: 1, in_flight: 1 })]
const attempt = [claimOf(scopes, { tokens: 2000, budget: 300 })]
const used = { tokens: 700, budget: 90 }
const record = { id: 'r/1', at: Date.now(), key: 'alice', group: 'research', model: 'm', upstream: 'u', route: 'r' }
const full = { ...record, units: { input: 500, output: 200 }, cost: 90, outcome: 'ok', generation: 1 }

const book = new Book(new MemoryAccounts(() => {}), { isShared: false, isDurable: false, onFault: console.error })

async function requests(entry) {
  for (let n = 0; n < REQUESTS; n++) {
    let admitted = book.reserve(admission)
    if (admitted instanceof Promise) admitted = await admitted
    let taken = book.reserve(attempt)
    if (taken instanceof Promise) taken = await taken
    if (!taken.isOpen) throw new Error(`no room: ${taken.unit}`)
    book.settle(taken, used, entry)
    book.settle(admitted, { requests: 1 })
    // As a server: other work gets its turn.
    if (n % 50 === 49) await new Promise(setImmediate)
  }
}

async function digests() {
  for (let n = 0; n < REQUESTS; n++) {
    createHash('sha256').update(`a key of a caller ${n}`).digest('hex')
    if (n % 50 === 49) await new Promise(setImmediate)
  }
}

async function cpu(work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REQUESTS
}

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
/** The timers of the book keep no process alive; a gateway has a server that does. */
const server = setInterval(() => {}, 1000)
const results = { digest: [], bounds: [], entries: [] }
for (let round = 0; round < ROUNDS; round++) {
  results.digest.push(await cpu(digests))
  results.bounds.push(await cpu(() => requests(undefined)))
  results.entries.push(await cpu(() => requests(full)))
}
await book.close()
clearInterval(server)
const digest = median(results.digest)
for (const [name, values] of Object.entries(results))
  console.log(
    `${name.padEnd(8)} ${(median(values) / digest).toFixed(2)} of a digest (${median(values).toFixed(2)} µs of CPU here)`,
  )
