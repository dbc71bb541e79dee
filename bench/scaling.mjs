#!/usr/bin/env node
// Many gateways on one store, in virtual time, with the real code of leases, the store's accounts, circuits and the sharing of
// health. Prints how far rates and budgets are missed, how often the store is called, when all know of a dead upstream, and what
// happens while the store fails over, while a region is away, and while a reload reaches one gateway after another.
//
//   npm run bench:scaling                  10, 100 and 1,000 gateways, 1,000 requests a second each; about a minute of CPU
//   npm run bench:scaling -- --quick       10 and 50, some seconds
//   npm run bench:scaling -- --only health
import { parseArgs } from 'node:util'
import { deadUpstream, quietGateways } from './scaling-health.mjs'
import { failOver, regionAway, reloadWave, steady } from './scaling-limits.mjs'
import { memoryOfKeys } from './scaling-memory.mjs'

const { quick, only } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } }).values
const [STEPS, MOST] = quick ? [[10, 50], 50] : [[10, 100, 1000], 1000]
/** Requests a second of each gateway; where what counts is how many gateways there are, fewer of them. */
const [BUSY, CALM] = [1000, quick ? 1000 : 100]
const STEADY_SECONDS = 4
const WAVE_MS = 6000

function row(gateways, what, figures) {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  console.log(`${gateways.toLocaleString('en').padStart(5)} gateways  ${what}: ${text.join('; ')}`)
}

const PARTS = {
  async limits() {
    for (const gateways of STEPS) await steady(gateways, BUSY, STEADY_SECONDS, row)
    await failOver(MOST, CALM, row)
    await regionAway(MOST, CALM, row)
  },
  async reload() {
    await reloadWave(MOST, CALM, WAVE_MS, row)
  },
  async health() {
    for (const gateways of STEPS) await deadUpstream(gateways, BUSY, row)
    for (const gateways of STEPS) await quietGateways(gateways, row)
  },
  async memory() {
    await memoryOfKeys(row)
  },
}

if (only !== undefined && PARTS[only] === undefined)
  throw new Error(`--only takes one of ${Object.keys(PARTS).join(', ')}`)
/** The timers of the books keep no process alive. */
const alive = setInterval(() => {}, 1000)
for (const [name, run] of Object.entries(PARTS)) if (only === undefined || only === name) await run()
clearInterval(alive)
