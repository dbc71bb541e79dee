// Measures large files on their way up and down: the gateway beside nginx and beside no proxy at all, one at a time. Printed
// are the rate, the CPU of the proxy, and how much its resident memory grew at most over what it was before the first
// file. The gateway goes each way in a process of its own, so that neither finds memory that the other has taken. That
// growth is mostly garbage that has not been collected yet. `with flags`: with the flag that docs/operating.md advises for heavy
// relaying. How much the gateway holds is reported too, after collections.
// usage: node bench/files.mjs [--quick]     writes bench/out/files.json
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import {
  cores,
  cpu,
  KEY,
  rss,
  startFileGateway,
  startFileUpstream,
  startFlaggedGateway,
  startNginx,
  startProbedGateway,
  stop,
  stopAll,
} from './processes.mjs'
import { median } from './report.mjs'

const quick = process.argv.includes('--quick')
const MIB = 1024 * 1024
const SIZE = (quick ? 16 : 1024) * MIB
const ROUNDS = quick ? 1 : 3
const LOOK = 10
/** Small requests that warm the way, and the growth of the gateway that is aimed at, MiB. */
const SMALL = 40
const TARGET = 16
/** CPU of a process that does nothing, microseconds in 100 ms. */
const IDLE = 5000

const PIECE = Buffer.alloc(64 * 1024, 0x61)
const HEAD = Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n')
const FOOT = Buffer.from('\r\n--x--\r\n')

const upstream = await startFileUpstream()
const nginx = await startNginx(upstream.port, 'client_max_body_size 4g; proxy_request_buffering off;')
const ways = { up: target => upload(target, SIZE, SIZE), down: target => download(target, SIZE) }

const results = { up: {}, down: {} }
for (const [way, pass] of Object.entries(ways)) {
  const gateways = [await startFileGateway(upstream.port), await startFlaggedGateway(upstream.port, 'files.yaml')]
  for (const target of [upstream, nginx, ...gateways]) {
    if (target === undefined) continue
    await warm(target)
    results[way][target.name] = await measured(target, () => pass(target))
    if (gateways.includes(target)) await stop(target)
  }
}
const held = await holding(await startProbedGateway(upstream.port, 'files.yaml'))
await stopAll()

mkdirSync(new URL('out/', import.meta.url), { recursive: true })
const report = { node: process.version, cores, quick, size: SIZE, results, held }
writeFileSync(new URL('out/files.json', import.meta.url), `${JSON.stringify(report, undefined, 2)}\n`)
for (const [way, rows] of Object.entries(results)) {
  console.log(`\n${SIZE / MIB} MiB ${way}`)
  for (const [name, { rate, cpu: used, growth }] of Object.entries(rows)) {
    const cells = [`${rate.toFixed(0)} MiB/s`, `${used.toFixed(0)} ms CPU`, `+${growth.toFixed(1)} MiB`]
    console.log(`  ${name.padEnd(12)}${cells.map(cell => cell.padStart(16)).join('')}`)
  }
  const { gateway: own, 'with flags': flagged, direct, nginx: other } = rows
  const over = (one, key) => (one === undefined ? 'not measured' : (own[key] / one[key]).toFixed(2))
  console.log(`  rate: gateway / nginx = ${over(other, 'rate')}, gateway / direct = ${over(direct, 'rate')}`)
  console.log(`  CPU: gateway / nginx = ${over(other, 'cpu')}`)
  console.log(`  CPU: with flags / gateway = ${(flagged.cpu / own.cpu).toFixed(2)}`)
  console.log(
    `  memory of the gateway: +${own.growth.toFixed(1)} MiB; with flags +${flagged.growth.toFixed(1)}, target ≤ ${TARGET}`,
  )
}

console.log(`\nheld by the gateway: +${held.up.toFixed(1)} MiB on the way up, +${held.down.toFixed(1)} MiB down`)

/** MiB that are left after collections while a file passes, over what there was before. */
async function holding(target) {
  const look = async () => {
    const { heapUsed, external } = await target.ask('heap')
    return (heapUsed + external) / MIB
  }
  await warm(target)
  const most = async pass => {
    const before = await look()
    let [highest, passing] = [0, true]
    const passed = pass().finally(() => {
      passing = false
    })
    while (passing) {
      highest = Math.max(highest, (await look()) - before)
      await setTimeout(LOOK)
    }
    await passed
    return highest
  }
  return { up: await most(() => upload(target, SIZE, SIZE)), down: await most(() => download(target, SIZE)) }
}

/**
 * Makes what is made once: the files known to the gateway, connections, and code, for which the compiler takes 30 MiB of its
 * own in the background after some requests of any size (the parser of answers is one function).
 */
async function warm(target) {
  for (const size of [1, SIZE]) await upload(target, 8 * MIB, size)
  for (let at = 0; at < SMALL; at += 1) await download(target, 1)
  let used
  do {
    used = cpu(target)
    await setTimeout(100)
  } while (cpu(target) - used > IDLE)
}

async function measured(target, pass) {
  const rounds = []
  const least = rss(target)
  for (let round = 0; round < ROUNDS; round += 1) {
    const [used, started] = [cpu(target), performance.now()]
    let most = least
    const timer = setInterval(() => {
      most = Math.max(most, rss(target))
    }, LOOK)
    await pass()
    clearInterval(timer)
    const seconds = (performance.now() - started) / 1000
    rounds.push({
      rate: SIZE / MIB / seconds,
      cpu: (cpu(target) - used) / 1000,
      growth: Math.max(most, rss(target)) - least,
    })
  }
  const [rate, used] = ['rate', 'cpu'].map(key => median(rounds.map(one => one[key])))
  return { rate, cpu: used, growth: Math.max(...rounds.map(one => one.growth)) }
}

/** Sends a form with a file of `size` bytes, which the upstream calls by the other size. */
function upload(target, size, called) {
  return new Promise((resolve, reject) => {
    const asked = request({
      port: target.port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/files',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'multipart/form-data; boundary=x',
        'content-length': HEAD.length + size + FOOT.length,
        'x-bench-size': called,
      },
    })
    asked.on('error', reject)
    asked.on('response', response => drain(response, 200).then(resolve, reject))
    asked.write(HEAD)
    let left = size
    const pump = () => {
      while (left > 0) {
        left -= PIECE.length
        if (!asked.write(PIECE)) {
          asked.once('drain', pump)
          return
        }
      }
      asked.end(FOOT)
    }
    pump()
  })
}

function download(target, size) {
  return new Promise((resolve, reject) => {
    const path = `/v1/files/file-${size}/content`
    const headers = { authorization: `Bearer ${KEY}` }
    const asked = request({ port: target.port, host: '127.0.0.1', path, headers })
    asked.on('error', reject)
    asked.on('response', response => drain(response, 200, size).then(resolve, reject))
    asked.end()
  })
}

async function drain(response, status, size) {
  let got = 0
  for await (const bytes of response) got += bytes.length
  if (response.statusCode === status && (size === undefined || got === size)) return
  throw new Error(`answered ${response.statusCode} with ${got} bytes`)
}
