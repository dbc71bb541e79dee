// Whether the time of a key check tells how much of a key is right (F-A2): Welch's t over the times of guesses that are
// wrong in the first 8 characters and in the last 8. Below 4.5 no difference can be seen. Beside it the same figure for two
// classes that are alike, which is this machine's noise.
// Then keys of the store: see store-keys.mjs.
// usage: node bench/keys.mjs [--samples=N] [--keys=N] [--times: only the first]
import { randomBytes, randomInt } from 'node:crypto'
import { atOnce } from '../dist/core/steps.js'
import { compileKeys } from '../dist/plan/keys.js'

const asked = process.argv.find(argument => argument.startsWith('--samples='))
const SAMPLES = Number(asked?.slice('--samples='.length) ?? 1_000_000)
const WARM_UP = 20_000
const KEY = `K${randomBytes(32).toString('hex')}K`

const keys = atOnce(
  compileKeys(
    { me: { models: ['*'], disabled: false, secrets: [{ type: 'plain', secret: { reveal: () => KEY } }] } },
    () => undefined,
    { error: (...problem) => console.error(...problem) },
  ),
)
if ('refused' in keys.find(KEY, Date.now())) throw new Error('the key itself is refused')

const first = welch(0, KEY.length - 8)
const alike = welch(0, 0)
console.log(`${SAMPLES} guesses of each class, |t|`)
console.log(`wrong in the first or the last 8 characters: ${first.toFixed(2)}`)
console.log(`two classes that are alike:                  ${alike.toFixed(2)}`)

if (!process.argv.includes('--times')) await import('./store-keys.mjs')

/** Both classes in random order, each guess a new string as the server makes them, so that nothing but the place differs. */
function welch(one, other) {
  const places = [one, other]
  const times = [new Float64Array(SAMPLES), new Float64Array(SAMPLES)]
  const filled = [0, 0]
  for (let i = 0; i < WARM_UP; i += 1) timed(places[i % 2])
  while (filled[0] < SAMPLES && filled[1] < SAMPLES) {
    const which = randomInt(2)
    times[which][filled[which]++] = timed(places[which])
  }
  const [a, b] = times.map((values, i) => describe(values.subarray(0, filled[i])))
  return Math.abs(a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count)
}

/** Nanoseconds of one check of a guess that is wrong in 8 characters from this place on. */
function timed(place) {
  const guess = Buffer.from(KEY)
  guess.write(randomBytes(4).toString('hex'), place, 'latin1')
  const presented = guess.toString('latin1')
  const start = process.hrtime.bigint()
  keys.find(presented, 0)
  return Number(process.hrtime.bigint() - start)
}

/** The slowest tenth (collections, interrupts) is left out. */
function describe(values) {
  const kept = values.sort().subarray(0, Math.floor(values.length * 0.9))
  const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length
  const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1)
  return { mean, variance, count: kept.length }
}
