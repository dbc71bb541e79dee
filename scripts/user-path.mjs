// The way of a new user, from the package to the dashboard, each step timed: node scripts/user-path.mjs
// npx → install → library → key → model → app → budget → dashboard. It packs this checkout (built), installs it into an empty folder, and does what
// docs/start.md says, with a simulator in a process of its own as the provider.
import { execFileSync, spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** How long a step waits for what it has begun, milliseconds. */
const PATIENCE_MS = 60_000
const POLL_MS = 50
/** Requests until the budget is spent, at most. */
const MAX_ASKED = 100
const ADMIN_KEY = 'key-of-the-operator-0123456789abcdef'

const folder = mkdtempSync(join(tmpdir(), 'gateway-user-'))
const started = []
const state = {}

const APP = `import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const messages = [{ role: 'user', content: 'Say hello.' }]
try {
  const answer = await client.chat.completions.create({ model: 'mine', messages, max_tokens: 20 })
  console.log(answer.choices[0].message.content)
} catch (error) {
  console.log(error.status, error.code, error.message)
}
`

const STEPS = {
  async npx() {
    run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT })
    state.archive = readdirSync(folder).find(name => name.endsWith('.tgz'))
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const cwd = join(folder, 'empty')
    mkdirSync(cwd)
    expect(npx(cwd, '--version').trim() === version, 'npx model-gateway prints its version in an empty folder')
    npx(cwd, 'init', '--provider', 'simulator')
    expect(existsSync(join(cwd, 'gateway.yaml')), 'and writes a first file')
  },
  async install() {
    const { archive } = state
    write('package.json', '{ "private": true, "type": "module" }')
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    run('npm', ['install', '--no-audit', '--no-fund', '--silent', `./${archive}`, `openai@${devDependencies.openai}`])
    expect(gateway('--help').includes('serve'), 'the command prints its help')
  },
  async library() {
    copyFileSync(join(ROOT, 'test/fixtures/library-user.ts.txt'), join(folder, 'use.ts'))
    const compiler = join(ROOT, 'node_modules/typescript-native/bin/tsc')
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')]
    run(process.execPath, [
      compiler,
      ...'--strict --module nodenext --target es2023 --skipLibCheck'.split(' '),
      ...types,
      'use.ts',
    ])
    expect(run(process.execPath, ['use.js']).includes('the library works'), 'a typed program that imports the package')
  },
  async start() {
    gateway('init', '--provider', 'simulator')
    state.port = await freePort()
    state.admin = await freePort()
    edit(text => text.replace(/port: 8080/, `port: ${state.port}`))
    state.serving = await serve()
    expect((await ask('/readyz')).status === 200, 'it is ready')
  },
  async key() {
    const printed = gateway('keys', 'new', 'alice')
    state.key = /^gw-\S+/.exec(printed)?.[0]
    const line = /^ {2}alice:\n {4}(secret: .*)$/m.exec(printed)?.[1]
    expect(state.key !== undefined && line !== undefined, `a key and its line: ${printed.replace(state.key, '…')}`)
    expect((await ask('/v1/models')).status === 401, 'it is not known yet')
    edit(text => text.replace(/^keys:$/m, `keys:\n  alice: { ${line}, models: [mine] }`))
    await until(async () => (await ask('/v1/models')).status === 200, 'the saved file admits the key')
  },
  async model() {
    state.provider = await freePort()
    background(['simulate', '--port', String(state.provider)], 'provider.log')
    const upstream = `provider: { kind: openai-compatible, base: "http://127.0.0.1:${state.provider}" }`
    const prices = 'prices: { provider/sim-text: { input: 50, output: 100 } }'
    edit(text =>
      text
        .replace(/^upstreams:$/m, `${prices}\n\nupstreams:\n  ${upstream}`)
        .replace(/^models:$/m, 'models:\n  mine: { upstream: provider, as: sim-text }'),
    )
    expect(gateway('validate').includes('valid'), 'the file is valid')
    await until(async () => (await (await ask('/v1/models')).text()).includes('"mine"'), 'the model is listed')
  },
  async app() {
    write('app.mjs', APP)
    await until(() => app().includes('Say hello.'), 'the app gets its answer')
  },
  async budget() {
    edit(text => text.replace('models: [mine] }', 'models: [mine], limits: { budget: 0.02 USD/day } }'))
    let said = ''
    for (let asked = 0; asked < MAX_ASKED && !said.startsWith('429'); asked++) said = await oneRequest()
    expect(said.startsWith('429'), `the budget is met: ${said}`)
    expect(app().startsWith('429'), 'the app gets a 429')
    expect(/alice/.test(gateway('spend', '--by', 'key')), 'and the ledger says who spent it')
  },
  async dashboard() {
    edit(
      text =>
        `${text}\nadmin: { port: ${state.admin}, secret: { env: GATEWAY_ADMIN_KEY }, metrics: { per_key: true } }\n`,
    )
    await stop(state.serving)
    state.serving = await serve()
    const link = /http:\S+/.exec(gateway('console'))?.[0]
    const page = await fetch(link)
    expect(page.status === 200 && (await page.text()).includes('<html'), `the console opens: ${page.status}`)
    const admin = `http://127.0.0.1:${state.admin}`
    const documentation = await fetch(`${admin}/docs/index.html`)
    expect(documentation.status === 200, 'it has the documentation')
    await documentation.arrayBuffer()
    app()
    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    const metrics = await (await fetch(`${admin}/metrics`, { headers })).text()
    expect(/^gateway_key_requests_total\{[^}]*key="alice"/m.test(metrics), 'metrics for Prometheus know the key')
    await stop(state.serving)
  },
}

try {
  const since = performance.now()
  for (const [name, step] of Object.entries(STEPS)) {
    const before = performance.now()
    await step()
    console.log(`${name.padEnd(10)} ${seconds(before)} s`)
  }
  console.log(`${'all'.padEnd(10)} ${seconds(since)} s`)
} catch (error) {
  for (const name of readdirSync(folder).filter(one => one.endsWith('.log')))
    console.error(`${name}:\n${readFileSync(join(folder, name), 'utf8').slice(-4000)}`)
  console.error(error.stdout ?? '', error.message)
  process.exitCode = 1
} finally {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function serve() {
  const child = background(['serve'], 'gateway.log')
  const isReady = () =>
    ask('/readyz').then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(isReady, 'the gateway serves')
  return child
}

/** A process of the installed command that continues. */
function background(args, log) {
  const file = join(folder, 'node_modules/model-gateway/bin/gateway.js')
  const env = { ...process.env, GATEWAY_ADMIN_KEY: ADMIN_KEY }
  const child = spawn(process.execPath, [file, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => writeFileSync(join(folder, log), text, { flag: 'a' }))
  child.ended = new Promise(resolve => child.once('close', resolve))
  started.push(child)
  return child
}

async function stop(child) {
  child.kill('SIGTERM')
  const code = await child.ended
  expect(code === 0, `it ends cleanly: ${code}`)
}

function ask(path, init) {
  return fetch(`http://127.0.0.1:${state.port}${path}`, { headers: { authorization: `Bearer ${state.key}` }, ...init })
}

async function oneRequest() {
  const headers = { authorization: `Bearer ${state.key}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const body = JSON.stringify({ model: 'mine', messages, max_tokens: 20 })
  const answer = await ask('/v1/chat/completions', { method: 'POST', headers, body })
  return `${answer.status} ${await answer.text()}`
}

function app() {
  const env = { ...process.env, OPENAI_BASE_URL: `http://127.0.0.1:${state.port}/v1`, OPENAI_API_KEY: state.key }
  return run(process.execPath, ['app.mjs'], { env })
}

/** `npx model-gateway`, with the packed file in place of the registry's. */
function npx(cwd, ...args) {
  return run('npx', ['--yes', `file:${join(folder, state.archive)}`, ...args], { cwd })
}

function gateway(...args) {
  return run('npx', ['--no-install', 'gateway', ...args], { env: { ...process.env, GATEWAY_ADMIN_KEY: ADMIN_KEY } })
}

function run(command, args, options = {}) {
  return execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options })
}

function write(name, text) {
  writeFileSync(join(folder, name), text)
}

function edit(change) {
  const before = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  const after = change(before)
  expect(after !== before, 'the line to change is in gateway.yaml')
  write('gateway.yaml', after)
}

async function until(isTrue, what) {
  const end = performance.now() + PATIENCE_MS
  while (performance.now() < end) {
    if (await isTrue()) return
    await delay(POLL_MS)
  }
  throw new Error(`does not hold after ${PATIENCE_MS} ms: ${what}`)
}

function expect(isTrue, what) {
  if (!isTrue) throw new Error(`does not hold: ${what}`)
}

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1)
}
