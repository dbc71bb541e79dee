#!/usr/bin/env node
// Runs the Autobahn testsuite's groups 1 to 7 and 10 through raw and framed tunnels, in both directions, and compares every
// case with the same programs without the gateway between them.
//
//   node scripts/autobahn.mjs            every case
//   node scripts/autobahn.mjs '7.*' 6.4.1   some of them
//
// The suite runs on Python 2.7 (AUTOBAHN: a folder that holds it already, as virtualenv's bin/wstest). Where there is no
// such Python or the packages cannot be had, it says SKIPPED.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket, WebSocketServer } from 'ws'
import { freePort } from './free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const KEY = 'autobahn-key-0123456789abcdef'
const WAYS = ['direct', 'raw', 'framed']
const GROUPS = ['1.*', '2.*', '3.*', '4.*', '5.*', '6.*', '7.*', '10.*']
/** The suite waits for some things by the clock: a case is different that is so each time. */
const TRIES = 3
/** Of the whole program: a case that hangs is a failure. */
const TOTAL_MS = 170_000
const PIP = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']

const folder = mkdtempSync(join(tmpdir(), 'gateway-autobahn-'))
const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const wstest = install()
if (wstest === undefined) {
  console.log('SKIPPED: the Autobahn testsuite cannot be installed here (it needs Python 2.7)')
  process.exit(0)
}
setTimeout(() => fail('the suite does not come to its end in time'), TOTAL_MS).unref()

const [echo, fuzzing] = [await startEcho(), await freePort()]
const gateway = await startGateway(echo, fuzzing)
const ports = { direct: echo, raw: gateway, framed: gateway }
const reports = { servers: join(folder, 'servers'), clients: join(folder, 'clients') }
let cases = process.argv.length > 2 ? process.argv.slice(2) : GROUPS
for (let run = 1; run <= TRIES && cases.length > 0; run++) {
  await Promise.all([fuzzServer(), fuzzClient()])
  cases = [...new Set([...compare('servers'), ...compare('clients')])]
}
console.log(cases.length === 0 ? 'every case is as without the gateway' : `different: ${cases.join(', ')}`)
process.exit(cases.length === 0 ? 0 : 1)

// ── the suite

/** The path of `wstest`; undefined where it cannot be had. */
function install() {
  const given = process.env.AUTOBAHN
  if (given !== undefined) return join(given, 'bin/wstest')
  const python = pythons().find(path => run(path, ['--version']))
  if (python === undefined) return undefined
  const [boot, made] = [join(folder, 'boot'), join(folder, 'python')]
  const isInstalled =
    run(python, [...PIP, '--target', boot, 'virtualenv<20.22']) &&
    run(python, ['-m', 'virtualenv', '--quiet', made], { PYTHONPATH: boot }) &&
    run(join(made, 'bin/python'), [...PIP, 'autobahntestsuite'])
  return isInstalled ? join(made, 'bin/wstest') : undefined
}

/** Python 2.7 as a system has it, or as pyenv keeps it beside others. */
function pythons() {
  const kept = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions')
  return [join(kept, '2.7.18/bin/python2.7'), 'python2.7']
}

function run(command, options, env = {}) {
  return (
    spawnSync(command, options, { stdio: 'ignore', env: { ...process.env, ...env }, timeout: 180_000 }).status === 0
  )
}

/** The suite as a client of servers that answer every message with itself. */
async function fuzzServer() {
  const spec = {
    outdir: reports.servers,
    servers: WAYS.map(way => ({ agent: way, url: `ws://127.0.0.1:${ports[way]}/${way}?key=${KEY}` })),
    cases,
    'exclude-cases': [],
    'exclude-agent-cases': {},
  }
  await once(suite('fuzzingclient', spec), 'exit')
}

/** The suite as a server, asked by clients that answer every message with itself. */
async function fuzzClient() {
  const spec = {
    url: `ws://127.0.0.1:${fuzzing}`,
    outdir: reports.clients,
    cases,
    'exclude-cases': [],
    'exclude-agent-cases': {},
  }
  const server = suite('fuzzingserver', spec)
  await listening(fuzzing)
  const count = Number(await ask(fuzzing, '/getCaseCount'))
  for (const way of WAYS) {
    const port = way === 'direct' ? fuzzing : gateway
    const prefix = way === 'direct' ? '' : `/${way}`
    for (let at = 1; at <= count; at++) await ask(port, `${prefix}/runCase?case=${at}&agent=${way}&key=${KEY}`)
  }
  await ask(fuzzing, `/updateReports?agent=${WAYS[0]}`)
  server.kill('SIGTERM')
  await once(server, 'exit')
}

/** A client until its connection ends: each message goes back, and the last one is what it resolves to. */
function ask(port, path) {
  return new Promise(resolve => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { perMessageDeflate: false })
    let last = ''
    socket.on('message', (data, isBinary) => {
      last = data.toString('utf8')
      if (path.includes('runCase')) socket.send(data, { binary: isBinary })
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(last))
  })
}

function suite(mode, spec) {
  const file = join(folder, `${mode}.json`)
  writeFileSync(file, JSON.stringify(spec))
  return start(wstest, ['-m', mode, '-s', file], `${mode}.log`)
}

// ── its surroundings

async function startEcho() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  server.on('connection', socket => {
    socket.on('error', () => undefined)
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  await once(server, 'listening')
  return server.address().port
}

async function startGateway(echo, fuzzing) {
  const port = await freePort()
  const route = tunnel => `
  WS /${tunnel}: { protocol: echo, upstream: echo, tunnel: ${tunnel}, caller: { in: query, name: key } }
  WS /${tunnel}/{do}: { protocol: fuzz, upstream: fuzz, tunnel: ${tunnel}, caller: { in: query, name: key } }`
  const yaml = `version: 1
store: { type: memory }
keys: { suite: { secret: { env: SUITE_KEY }, models: ["*"] } }
upstreams:
  echo: { base: "http://127.0.0.1:${echo}", speaks: { echo: "GET /" } }
  fuzz: { base: "http://127.0.0.1:${fuzzing}", speaks: { fuzz: "GET /{do}" } }
models: {}
routes:${route('raw')}${route('framed')}
`
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, yaml)
  start(process.execPath, [join(ROOT, 'bin/gateway.js'), 'serve', file, '--port', String(port)], 'gateway.log', {
    SUITE_KEY: KEY,
  })
  await listening(port)
  return port
}

function start(command, options, log, env = {}) {
  const out = openSync(join(folder, log), 'w')
  const child = spawn(command, options, { stdio: ['ignore', out, out], env: { ...process.env, ...env }, cwd: folder })
  children.add(child)
  child.on('error', () => undefined)
  child.on('exit', code => {
    children.delete(child)
    if (code !== 0 && !child.killed) fail(`${log.replace('.log', '')} ended with ${code}`)
  })
  return child
}

/** Resolves once someone listens; the time-out of the program ends it else. */
async function listening(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await new Promise(resolve => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (isUp) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

// ── what came of it

/** The cases that are not what they are without the gateway, one a line. */
function compare(side) {
  const index = JSON.parse(readFileSync(join(reports[side], 'index.json'), 'utf8'))
  const direct = Object.entries(index.direct ?? {})
  if (direct.length === 0) fail(`${side}: no case was run`)
  const found = []
  for (const way of ['raw', 'framed']) {
    const counts = {}
    for (const [id, { behavior, behaviorClose }] of direct) {
      const own = index[way]?.[id]
      counts[own?.behavior] = (counts[own?.behavior] ?? 0) + 1
      if (own?.behavior === behavior && own.behaviorClose === behaviorClose) continue
      console.log(`${side} ${way} ${id}: ${own?.behavior}/${own?.behaviorClose}, not ${behavior}/${behaviorClose}`)
      found.push(id)
    }
    console.log(`${side} ${way}: ${JSON.stringify(counts)}`)
  }
  return found
}

function fail(message) {
  console.log(message)
  for (const log of ['gateway.log', 'fuzzingclient.log', 'fuzzingserver.log']) {
    if (existsSync(join(folder, log))) console.log(readFileSync(join(folder, log), 'utf8').slice(-2000))
  }
  process.exit(1)
}
