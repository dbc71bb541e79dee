// Measures what looking costs: CPU of the gateway with four viewers of the console beside none, in windows in turn, and the heap of a
// page that looks on, both under 500 requests a second.
// usage: node bench/console.mjs [--quick] [--minutes 5]
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { freePort } from '../scripts/free-port.mjs'
import { cpu, folder, KEY, startFlaggedGateway, startUpstream, stopAll } from './processes.mjs'
import { median } from './report.mjs'
import { chatRequest } from './workloads.mjs'

const quick = process.argv.includes('--quick')
const at = process.argv.indexOf('--minutes')
const MINUTES = at < 0 ? 5 : Number(process.argv[at + 1])
const PER_SECOND = 500
/** Requests are sent every so often, milliseconds. */
const TICK_MS = 10
const MAX_IN_FLIGHT = 200
const VIEWERS = 4
const WINDOW_MS = quick ? 3000 : 10_000
const PAIRS = quick ? 1 : 6
const SAMPLE_MS = quick ? 2000 : 10_000
const SAMPLES = quick ? 3 : Math.max(6, Math.round((MINUTES * 60_000 - 2 * PAIRS * WINDOW_MS) / SAMPLE_MS))
/** What a page with the overview reads, and how often. */
const READS = { '/admin/series?range=15m': 2000, '/admin/upstreams': 5000, '/admin/limits': 5000 }
/** Goals: docs/console.md. */
const MAX_SHARE = 0.01
const MAX_GROWTH_MIB = 2

const upstream = await startUpstream()
const adminPort = await freePort()
const file = join(folder, 'console.yaml')
const text = readFileSync(fileURLToPath(new URL('gateway.yaml', import.meta.url)), 'utf8')
writeFileSync(file, `${text}admin: { port: ${adminPort}, secret: { env: BENCH_KEY } }\n`)
const gateway = await startFlaggedGateway(upstream.port, file)
const admin = `http://127.0.0.1:${adminPort}`
const authorization = `Bearer ${KEY}`

const agent = new Agent({ keepAlive: true, maxSockets: MAX_IN_FLIGHT })
const body = chatRequest(256)
let [inFlight, done] = [0, 0]

function ask() {
  inFlight++
  const sent = request(
    {
      ...{ agent, host: '127.0.0.1', port: gateway.port, method: 'POST', path: '/v1/chat/completions' },
      headers: { authorization, 'content-type': 'application/json', 'content-length': body.length },
    },
    answer => {
      answer.resume()
      answer.on('close', () => {
        inFlight--
        if (answer.statusCode === 200) done++
      })
    },
  )
  sent.on('error', () => inFlight--)
  sent.end(body)
}

const began = performance.now()
let asked = 0
const load = setInterval(() => {
  const due = ((performance.now() - began) / 1000) * PER_SECOND
  for (; asked < due; asked++) if (inFlight < MAX_IN_FLIGHT) ask()
}, TICK_MS)

/** Looks as a page does; resolves with what ends it. */
function look() {
  const live = get(`${admin}/admin/live`, { headers: { authorization } }, answer => answer.resume())
  live.on('error', () => undefined)
  const read = path => void fetch(admin + path, { headers: { authorization } }).then(answer => answer.arrayBuffer())
  const timers = Object.entries(READS).map(([path, everyMs]) => setInterval(() => read(path), everyMs))
  return () => {
    live.destroy()
    for (const timer of timers) clearInterval(timer)
  }
}

/** CPU of a second with so many viewers, as a share of a core: by request, so that a busy machine, which answers fewer, tells the same. */
async function shareWith(viewers) {
  const ends = Array.from({ length: viewers }, look)
  const [before, answered] = [cpu(gateway), done]
  await delay(WINDOW_MS)
  const perRequest = (cpu(gateway) - before) / Math.max(1, done - answered)
  for (const end of ends) end()
  return (perRequest * PER_SECOND) / 1_000_000
}

async function heapOf(page) {
  const client = await page.context().newCDPSession(page)
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  await client.detach()
  return usedSize / 1024 / 1024
}

await delay(WINDOW_MS)
const costs = []
for (let pair = 0; pair < PAIRS; pair++) {
  // Each comes first as often as second.
  const order = pair % 2 === 0 ? [0, VIEWERS] : [VIEWERS, 0]
  const shares = new Map()
  for (const viewers of order) shares.set(viewers, await shareWith(viewers))
  costs.push(shares.get(VIEWERS) - shares.get(0))
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
const page = await browser.newPage()
await page.goto(admin)
await page.getByLabel('Admin key').fill(KEY)
await page.getByRole('button', { name: 'Sign in' }).click()
await page.getByRole('heading', { name: 'Overview' }).waitFor()
const heaps = []
for (let sample = 0; sample < SAMPLES; sample++) {
  await delay(SAMPLE_MS)
  heaps.push(await heapOf(page))
}
await browser.close()
clearInterval(load)
const seconds = (performance.now() - began) / 1000
// A page fills its plots first: the second third is compared with the last.
const third = Math.floor(heaps.length / 3)
const [middle, last] = [median(heaps.slice(third, 2 * third)), median(heaps.slice(-third))]
const cost = median(costs)
console.log(
  `${(done / seconds).toFixed(0)} requests a second answered, of ${PER_SECOND}, in ${(seconds / 60).toFixed(1)} minutes`,
)
const percent = share => `${(100 * share).toFixed(2)} %`
const range = `${percent(Math.min(...costs))} to ${percent(Math.max(...costs))}`
console.log(`${VIEWERS} viewers: ${percent(cost)} of a core (median of ${PAIRS} pairs of windows, ${range})`)
console.log(`heap of the page: ${middle.toFixed(1)} MiB, then ${last.toFixed(1)} MiB (medians of ${third} samples)`)
agent.destroy()
await stopAll()
const isGood = cost <= MAX_SHARE && last - middle <= MAX_GROWTH_MIB
// A short run says that it runs, and nothing else.
process.exit(quick || isGood ? 0 : 1)
