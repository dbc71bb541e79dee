// Bytes of the heap for each key: as the plan has it, and in the leases of a process, with a rate and a budget.
import { hash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { atOnce } from '../dist/core/steps.js'
import { Book } from '../dist/features/limits/book.js'
import { claimOf } from '../dist/features/limits/reservation.js'
import { compileKeys } from '../dist/plan/keys.js'
import { MemoryAccounts } from '../dist/stores/memory-accounts.js'
import { VirtualClock } from './virtual-clock.mjs'

/** Two accounts each: less than a process keeps. */
const KEYS = 25_000
const NOTHING = { error: (...problem) => console.error(...problem) }

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** What is left when garbage is gone, bytes for each key. */
async function grown(make) {
  collect()
  const before = process.memoryUsage().heapUsed
  const made = await make()
  collect()
  const bytes = (process.memoryUsage().heapUsed - before) / KEYS
  return { bytes: `${Math.round(bytes)} bytes`, made }
}

export async function memoryOfKeys(row) {
  const plan = await grown(() => {
    const written = Object.fromEntries(
      Array.from({ length: KEYS }, (_, n) => {
        const secret = hash('sha256', `key ${n}`)
        const secrets = [{ type: 'plain', secret: { reveal: () => secret } }]
        return [`key-${n}`, { models: ['*'], disabled: false, secrets }]
      }),
    )
    return atOnce(compileKeys(written, () => undefined, NOTHING))
  })
  const clock = new VirtualClock()
  // What the store keeps is made before.
  const accounts = new MemoryAccounts(() => {})
  const scopes = Array.from({ length: KEYS }, (_, n) => ({ type: 'key', name: `key-${n}`, limits: { bounds: BOUNDS } }))
  const ask = async book => {
    const asked = Promise.all(scopes.map(scope => book.reserve([claimOf([scope], WORST)])))
    await clock.pass(300)
    for (const one of await asked) book.settle(one, USED)
    await clock.pass(300)
    return book
  }
  const options = { clock, isShared: true, isDurable: false, onFault: error => console.error(error) }
  const stored = await grown(() => ask(new Book(accounts, options)))
  const leases = await grown(() => ask(new Book(accounts, options)))
  row(1, 'memory of a key', { 'in the plan': plan.bytes, 'in use, with a rate and a budget': leases.bytes })
  return [plan, stored, leases]
}

const BOUNDS = [
  { unit: 'requests', amount: 1000, window: 'minute' },
  { unit: 'budget', amount: 100_000_000, window: 'month' },
]
const WORST = { requests: 1, budget: 400 }
const USED = { requests: 1, budget: 100 }
