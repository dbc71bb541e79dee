// The gateway on Bun, and on a Node that no test runs on: starts, answers, streams, reloads and drains. Build first:
//   node scripts/other-runtimes.mjs bun|node22
// The binary comes from its package for this platform, which has no install script. docs/platforms.md says what else was tried by hand.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { install, Skipped } from './clients/install.mjs'
import { freePort } from './free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RUNTIMES = {
  bun: {
    npm: `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`,
    version: '1.4.5',
    binary: 'bin/bun',
  },
  node22: { npm: `node-${process.platform}-${process.arch}`, version: '22', binary: 'bin/node' },
}
const KEY = 'key-of-the-gateway-elsewhere'
const PATIENCE_MS = 30_000
const POLL_MS = 50
const MAX_OUTPUT_CHARACTERS = 20_000

const [name = ''] = process.argv.slice(2)
const runtime = RUNTIMES[name]
if (runtime === undefined) throw new Error(`name one of ${Object.keys(RUNTIMES).join(', ')}`)
const work = mkdtempSync(join(tmpdir(), 'gateway-runtime-'))
const binary = join(work, 'node_modules', runtime.npm, runtime.binary)
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
const file = join(work, 'gateway.yaml')
const state = { output: '' }

const STEPS = {
  async start() {
    state.port = await freePort()
    writeFileSync(
      file,
      `version: 1
listen: { port: ${state.port} }
store: { type: file, path: ./data }
keys: { me: { secret: { env: GATEWAY_KEY }, models: ["*"] } }
upstreams:
  sim-chat: { kind: simulator-chat }
  sim: { kind: simulator }
models:
  sim-text: sim-chat
`,
    )
    state.child = spawn(binary, [join(ROOT, 'bin/gateway.js'), 'serve'], {
      cwd: work,
      env: { PATH: process.env.PATH, HOME: work, GATEWAY_KEY: KEY },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    process.on('exit', () => state.child.kill('SIGKILL'))
    for (const stream of [state.child.stdout, state.child.stderr])
      stream.on('data', text => {
        state.output = (state.output + text).slice(-MAX_OUTPUT_CHARACTERS)
      })
    state.ended = new Promise(resolve => state.child.once('close', resolve))
    await until(
      () =>
        ask('/readyz').then(
          ({ status }) => status === 200,
          () => false,
        ),
      'it is ready',
    )
  },
  async answer() {
    const answer = await chat({})
    expect(answer.status === 200, `status ${answer.status}`)
    const { choices, usage } = JSON.parse(answer.text)
    expect(choices[0].message.content !== '' && usage.total_tokens > 0, answer.text)
  },
  async refusal() {
    const answer = await ask('/v1/models', { headers: {} })
    expect(answer.status === 401 && answer.text.includes('"error"'), answer.text)
  },
  async stream() {
    const { text } = await chat({ stream: true })
    expect(text.match(/^data: \{/gm)?.length > 2 && /^data: \[DONE\]$/m.test(text), text)
  },
  async translation() {
    const body = { model: 'sim-text', max_tokens: 50, messages: MESSAGES, stream: true }
    const { text } = await post('/v1/messages', body)
    expect(/^event: message_start$/m.test(text) && /^event: message_stop$/m.test(text), text)
  },
  async store() {
    const { text } = await post('/v1/responses', { model: 'sim-text', input: 'Say hello.' })
    const { status } = await ask(`/v1/responses/${JSON.parse(text).id}`)
    expect(status === 200, `a stored response: ${status}`)
  },
  async reload() {
    writeFileSync(file, `${readFileSync(file, 'utf8')}  other: sim\n`)
    await until(async () => (await ask('/v1/models')).text.includes('"other"'), 'the saved file serves')
  },
  async drain() {
    state.child.kill('SIGTERM')
    const code = await state.ended
    expect(code === 0, `it ends with ${code}`)
  },
}
const MESSAGES = [{ role: 'user', content: 'Say hello.' }]

try {
  await install(runtime, work)
  for (const [title, step] of Object.entries(STEPS)) {
    await step()
    console.log(`ok  ${title}`)
  }
  const version = execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim()
  console.log(`${name} ${version}: ${Object.keys(STEPS).length} of ${Object.keys(STEPS).length} hold`)
} catch (error) {
  if (error instanceof Skipped) console.log(`SKIPPED: ${name} ${error.message}`)
  else {
    console.error(`FAILED  ${error.message}\n${state.output}`)
    process.exitCode = 1
  }
} finally {
  state.child?.kill('SIGKILL')
}

async function ask(path, init) {
  const answer = await fetch(`http://127.0.0.1:${state.port}${path}`, {
    headers: { authorization: `Bearer ${KEY}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...init,
  })
  return { status: answer.status, text: await answer.text() }
}

function post(path, body) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  return ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

function chat(more) {
  return post('/v1/chat/completions', { model: 'sim-text', messages: MESSAGES, ...more })
}

async function until(isTrue, what) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await delay(POLL_MS)) {
    if (await isTrue()) return
    if (state.child.exitCode !== null) break
  }
  throw new Error(`does not hold: ${what}`)
}

function expect(isTrue, what) {
  if (!isTrue) throw new Error(`does not hold: ${what}`)
}
