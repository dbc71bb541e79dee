// Measures the goals of reliability, G1 to G28, in a form of about two minutes, and prints each beside its goal; docs/reliability.md
// is written from that. Gateways, Redis, PostgreSQL and nginx are processes; sockets are real ones.
// usage: node bench/reliability.mjs [G2 G16 …: only these]     writes bench/out/reliability.json, where the others stay as they were
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { cores, folder, stopAll } from './processes.mjs'
import { goals as checks } from './reliability/checks.mjs'
import { goals as clients } from './reliability/clients.mjs'
import { goals as lives } from './reliability/lives.mjs'
import { CALLER, deaths, UPSTREAM_SECRET } from './reliability/stage.mjs'
import { goals as stores } from './reliability/stores.mjs'
import { goals as upstreams } from './reliability/upstreams.mjs'
import { writeReport } from './reliability/write-report.mjs'

/** After so long a goal is given up, milliseconds. */
const MAX_MS = 45_000

const only = process.argv.slice(2).filter(argument => argument.startsWith('G'))
const all = [...upstreams, ...clients, ...lives, ...stores, ...checks, ...ownGoals()]
const number = ({ id }) => Number(id.slice(1))
const wanted = all
  .sort((one, other) => number(one) - number(other))
  .filter(({ id }) => only.length === 0 || only.includes(id))
// What is counted over the whole run comes last.
const order = [...wanted.filter(({ isLast }) => !isLast), ...wanted.filter(({ isLast }) => isLast)]

const results = []
for (const goal of order) {
  const since = performance.now()
  const result = await measured(goal)
  const seconds = (performance.now() - since) / 1000
  results.push({ ...goal, ...result, seconds })
  console.log(
    `${goal.id.padEnd(4)}${verdict(result).padEnd(13)} ${goal.title}: ${result.figure} (${seconds.toFixed(1)} s)`,
  )
}
await stopAll()
results.sort((one, other) => number(one) - number(other))
const missed = results.filter(({ isMet }) => isMet === false)
console.log(`\n${results.length} goals: ${results.filter(({ isMet }) => isMet).length} met, ${missed.length} missed`)
writeReport(merged(), { node: process.version, cores })
process.exit(missed.length === 0 ? 0 : 1)

/** What was measured now, and of the other goals what was measured last. */
function merged() {
  const file = new URL('out/reliability.json', import.meta.url)
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const fresh = results.map(({ id, title, goal, figure, isMet, how, seconds }) => {
    return { id, title, goal, figure, isMet, how, seconds, load: loadavg()[0] }
  })
  const rows = [...known.filter(({ id }) => !fresh.some(one => one.id === id)), ...fresh]
  rows.sort((one, other) => number(one) - number(other))
  mkdirSync(new URL('out/', import.meta.url), { recursive: true })
  writeFileSync(file, `${JSON.stringify(rows, undefined, 2)}\n`)
  return rows
}

async function measured(goal) {
  const ends = []
  let timer
  const late = new Promise(resolve => {
    timer = setTimeout(() => resolve({ figure: `not done after ${MAX_MS / 1000} s`, isMet: false }), MAX_MS)
  })
  try {
    return await Promise.race([goal.measure(end => ends.unshift(end)), late])
  } catch (error) {
    return { figure: `could not be measured: ${String(error.stack ?? error).slice(0, 600)}`, isMet: false }
  } finally {
    clearTimeout(timer)
    for (const end of ends) await end()
  }
}

function verdict({ isMet }) {
  if (isMet === undefined) return 'not measured'
  return isMet ? 'met' : 'MISSED'
}

/** Those that are about all the others. */
function ownGoals() {
  return [
    {
      id: 'G20',
      isLast: true,
      title: 'no request ends a process',
      goal: '0 processes end of a request, 0 unhandled rejections',
      how: 'every gateway of this run; those that were killed on purpose do not count',
      measure: async () => {
        const rejections = logs().filter(({ text }) => /unhandled ?rejection|uncaught/i.test(text))
        return {
          figure: `${deaths.length} processes ended, ${rejections.length} logs name an unhandled error`,
          isMet: deaths.length + rejections.length === 0,
        }
      },
    },
    {
      id: 'G21',
      isLast: true,
      title: 'secrets stay secret',
      goal: '0 secrets in logs, answers and files',
      how: "the caller's key and the upstream's secret of this run are looked for in the logs of all its gateways",
      measure: async () => {
        const all = logs()
        const found = all.filter(({ text }) => text.includes(CALLER) || text.includes(UPSTREAM_SECRET))
        const size = all.reduce((sum, { text }) => sum + text.length, 0) / 2 ** 20
        return {
          figure: `${found.length} finds in ${all.length} logs of ${size.toFixed(1)} MiB`,
          isMet: found.length === 0,
        }
      },
    },
  ]
}

function logs() {
  const names = readdirSync(folder).filter(name => name.endsWith('.log'))
  return names.map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
}
