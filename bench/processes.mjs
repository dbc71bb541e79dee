// The processes under measure: how they are started, what they used, how they end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.mjs'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const TICKS_PER_SECOND = 100
/** Of Node, for heavy relaying: docs/operating.md. */
const RELAY_FLAGS = ['--initial-old-space-size=128']
const children = new Set()
let files = 0

/** Logs, pid files and nginx's temporary files. */
export const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
export const KEY = 'bench-key-0123456789abcdef'
export const cores = availableParallelism()

process.on('exit', () => {
  for (const child of children) child.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

/** Files of a certificate for localhost, if connections are encrypted. */
let tls

/** From now on the upstream, the floor, the gateway and nginx take and make TLS connections. Needs `npm run build:test`. */
export async function encrypt() {
  const { certificate } = await import('../.test-build/test/helpers/certificates.js')
  const days = count => new Date(Date.now() + count * 86_400_000)
  const pem = certificate('localhost', days(-1), days(30))
  tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(tls.cert, pem.cert)
  writeFileSync(tls.key, pem.key, { mode: 0o600 })
  // Read by every process of Node that is started here.
  process.env.NODE_EXTRA_CA_CERTS = tls.cert
}

const originOf = port => (tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`)
const tlsFiles = () => (tls === undefined ? [] : [tls.cert, tls.key])

export async function startUpstream() {
  const port = await freePort()
  return start('direct', port, process.execPath, [here('upstream.mjs'), port, ...tlsFiles()])
}

export async function startFloor(upstream) {
  const port = await freePort()
  return start('floor', port, process.execPath, [here('floor.mjs'), port, originOf(upstream), ...tlsFiles()])
}

/** The gateway's own transport, without the gateway. */
export async function startBareTransport(upstream) {
  const port = await freePort()
  return start('transport', port, process.execPath, [here('bare-transport.mjs'), port, originOf(upstream)])
}

/** The gateway with a file of the bench's own. */
export function startGatewayFrom(file, upstream) {
  return serve('gateway', file, upstream)
}

/** `hold`: streams stop after so many events and stay open. */
export async function startPairUpstream(hold = []) {
  const port = await freePort()
  return start('upstream', port, process.execPath, [here('pair-upstream.mjs'), port, ...[hold].flat()])
}

/** The gateway as shipped, its request log written to a file. */
export function startGateway(upstream) {
  if (tls === undefined) return serve('gateway', 'gateway.yaml', upstream)
  const file = join(folder, 'gateway-tls.yaml')
  const listen = `listen: { tls: { cert: ${tls.cert}, key: ${tls.key} } }`
  writeFileSync(file, `${readFileSync(here('gateway.yaml'), 'utf8')}${listen}\n`)
  return serve('gateway', file, upstream)
}

/** The gateway of another checkout, which has been built. */
export function startOther(upstream, checkout) {
  return serve('other', 'gateway.yaml', upstream, [], undefined, join(checkout, 'bin/gateway.js'))
}

/** An upstream that takes and gives files. */
export async function startFileUpstream() {
  const port = await freePort()
  return start('direct', port, process.execPath, [here('file-upstream.mjs'), port])
}

/** An upstream that reads all that it is sent. */
export async function startUploadUpstream() {
  const port = await freePort()
  return start('direct', port, process.execPath, [here('upload-upstream.mjs'), port])
}

export function startFileGateway(upstream) {
  return serve('gateway', 'files.yaml', upstream)
}

/** As docs/operating.md advises for heavy relaying. */
export function startFlaggedGateway(upstream, file) {
  return serve('with flags', file, upstream, RELAY_FLAGS)
}

export function startPairGateway(upstream) {
  return serve('gateway', 'pairs.yaml', upstream)
}

/** A WebSocket that answers every frame. */
export async function startRealtimeUpstream() {
  const port = await freePort()
  return start('upstream', port, process.execPath, [here('realtime-upstream.mjs'), port])
}

/** `script`: tunnel.mjs, or library-tunnel.mjs. */
export async function startTunnel(upstream, script = 'tunnel.mjs') {
  const port = await freePort()
  return start('tunnel', port, process.execPath, [here(script), port, upstream])
}

export function startRealtimeGateway(upstream) {
  return serve('gateway', 'realtime.yaml', upstream)
}

/** An upstream that pushes as fast as it is let. `sizes`: MiB in each stream, characters in each event. */
export async function startPushingUpstream(...sizes) {
  const port = await freePort()
  return start('upstream', port, process.execPath, [here('pushing-upstream.mjs'), port, ...sizes])
}

/** An upstream that works while no one waits. */
export async function startTaskUpstream() {
  const port = await freePort()
  return start('upstream', port, process.execPath, [here('task-upstream.mjs'), port])
}

/** With tasks in that store, as it is written below `store:`; `seconds`: until it was ready. */
export async function startTaskGateway(upstream, store, { probed = false } = {}) {
  // Each has a file of its own: they follow theirs.
  const file = join(folder, `tasks-${++files}.yaml`)
  writeFileSync(file, readFileSync(here('tasks.yaml'), 'utf8').replace('@STORE@', store))
  const ready = port => answers(`http://127.0.0.1:${port}/readyz`)
  const since = performance.now()
  const gateway = await (probed
    ? startProbedGateway(upstream, file, ready)
    : serve('gateway', file, upstream, [], ready))
  return { ...gateway, seconds: (performance.now() - since) / 1000 }
}

/** The same with probe.mjs inside: `ask` tells what it knows. */
export async function startProbedGateway(upstream, file = 'pairs.yaml', ready = undefined) {
  const flags = ['--expose-gc', '--import', here('probe.mjs')]
  const gateway = await serve('gateway', file, upstream, flags, ready)
  const ask = async question => {
    gateway.child.send(question)
    const [answer] = await once(gateway.child, 'message')
    return answer
  }
  return { ...gateway, ask }
}

async function serve(name, file, upstream, flags = [], ready = undefined, bin = here('../bin/gateway.js')) {
  const port = await freePort()
  const bench = { BENCH_KEY: KEY, BENCH_UPSTREAM_KEY: 'upstream-key', BENCH_UPSTREAM: originOf(upstream) }
  const extra = tls && { NODE_EXTRA_CA_CERTS: tls.cert }
  const env = { PATH: process.env.PATH, ...bench, ...extra }
  const stdio = flags.length === 0 ? undefined : ['ipc']
  const args = [...flags, bin, 'serve', here(file), '--port', port]
  return start(name, port, process.execPath, args, { env, stdio, ready: ready && (() => ready(port)) })
}

/** `undefined` where nginx is not installed. Its worker is the process that is measured. `more`: said once for all servers. */
export async function startNginx(upstream, more = 'client_max_body_size 32m;') {
  const port = await freePort()
  const config = readFileSync(here('nginx.conf'), 'utf8')
    .replaceAll('@FOLDER@', folder)
    .replaceAll('@UPSTREAM@', upstream)
    .replaceAll('@PORT@', port)
    .replaceAll(
      '@MORE@',
      tls === undefined ? more : `${more} ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key};`,
    )
  const encrypted = config
    .replace(`listen 127.0.0.1:${port};`, `listen 127.0.0.1:${port} ssl;`)
    .replace('proxy_pass http:', 'proxy_ssl_protocols TLSv1.3; proxy_pass https:')
  writeFileSync(join(folder, 'nginx.conf'), tls === undefined ? config : encrypted)
  const command = ['nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')]]
  const nginx = await start('nginx', port, ...command).catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return nginx && { ...nginx, pid: await workerOf(nginx) }
}

/** The first process that nginx has begun: it listens before it begins any. */
async function workerOf({ pid, child }) {
  while (child.exitCode === null && child.signalCode === null) {
    const worker = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
    if (worker > 0) return worker
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  throw new Error('nginx ended before it began to work')
}

/** Runs one job of load.mjs, or of another script like it, to its end. */
export async function load(job, script = 'load.mjs') {
  const child = spawn(process.execPath, [here(script)], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.add(child)
  let out = ''
  child.stdout.on('data', data => {
    out += data
  })
  child.stdin.end(JSON.stringify({ ...job, tls: tls !== undefined }))
  const [code] = await once(child, 'close')
  children.delete(child)
  if (code !== 0) throw new Error(`the load failed on port ${job.port}`)
  return JSON.parse(out)
}

/**
 * Sends what CPU is measured of until V8 has compiled it: of the first 60,000 requests its compiler takes a fifth, and the more
 * code a gateway runs, the more. Runs before a measurement of steady work.
 */
export async function warmUp(gateways, body) {
  for (const { port } of gateways)
    await load({ port, key: KEY, unit: 'request', requests: 60_000, connections: 32, body: body.toString('base64') })
}

/** CPU of a process with all its threads, user and system, in microseconds. */
export function cpu({ pid }) {
  return scheduled(pid) ?? ticked(pid)
}

/** As the scheduler has counted it, to the nanosecond; undefined where the kernel does not tell. */
function scheduled(pid) {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    return tasks.reduce(
      (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1000,
      0,
    )
  } catch {
    return undefined
  }
}

/** Resolution: 10 ms. */
function ticked(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
}

/** Resident memory of a process in MiB. */
export function rss({ pid }) {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

/** Ends what was started, each by its own handle, in good order. */
export async function stopAll() {
  await Promise.all([...children].map(child => stop({ child })))
}

/** Ends one of them. */
export async function stop({ child }, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

export async function start(name, port, command, args, { env = process.env, ready, stdio = [] } = {}) {
  const log = openSync(join(folder, `${name}.log`), 'a')
  const child = spawn(command, args.map(String), { stdio: ['ignore', 'pipe', log, ...stdio], env })
  const failed = once(child, 'error').then(([error]) => Promise.reject(error))
  const ended = once(child, 'exit').then(() => {
    children.delete(child)
    throw new Error(`${name} ended: ${readFileSync(join(folder, `${name}.log`), 'utf8').slice(-2000)}`)
  })
  ended.catch(() => undefined)
  failed.catch(() => undefined)
  child.stdout.resume()
  await Promise.race([ready === undefined ? connects(port) : ready(), failed, ended])
  children.add(child)
  return { name, port, pid: child.pid, child }
}

/** Waits until someone listens on a port. */
async function connects(port) {
  const { connect } = await import('node:net')
  for (let tries = 0; tries < 500; tries += 1) {
    const socket = connect(port, '127.0.0.1')
    const open = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (open) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`no one listens on port ${port}`)
}

/** Waits until someone answers with success there. */
export async function answers(url) {
  const until = performance.now() + 120_000
  while (performance.now() < until) {
    const good = await fetch(url).then(
      answer => answer.ok,
      () => false,
    )
    if (good) return
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  throw new Error(`${url} is not ready`)
}
