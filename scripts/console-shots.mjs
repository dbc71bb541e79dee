#!/usr/bin/env node
// Pictures of every view of the console, light and dark, wide and narrow, from a gateway with the simulator under some load.
//
//   node scripts/console-shots.mjs [--out FOLDER] [--seconds 20] [--only light-1440] [--docs]
//
// `--docs` also writes those of the README and the guide, small, to docs/images/.
//
// Needs a build, and Chromium (CHROMIUM=/usr/bin/chromium).
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { freePort } from './free-port.mjs'
import { smallPng } from './small-png.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'test/console/out') },
    seconds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    docs: { type: 'boolean', default: false },
  },
})
const ADMIN = 'the-key-of-the-admin-0123456789'
const KEYS = {
  alice: 'the-key-of-alice-0123456789',
  team: 'the-key-of-team-0123456789',
  ci: 'the-key-of-ci-0123456789',
}

const VIEWS = {
  overview: '/',
  requests: '/requests',
  failed: '/requests?status=5xx',
  chat: '/play?model=fast',
  protocols: '/play?model=fast&view=protocols',
  embeddings: '/play?operation=embeddings',
  plan: '/plan',
  explain: '/plan?view=explain',
  file: '/plan?view=file',
  generations: '/plan?view=generations',
  models: '/models?name=fast',
  split: '/?by=model&of=tokens',
  keys: '/keys',
  use: '/keys?name=alice&range=15m',
  upstreams: '/upstreams?name=west',
  faults: '/faults',
  voice: '/play?operation=voice',
  tasks: '/tasks',
  files: '/files?key=alice',
}

/** Of these, those that the README shows. */
const DOCUMENTED = ['overview', 'request', 'plan']

const yaml = (port, admin) => `version: 1
listen: { host: 127.0.0.1, port: ${port} }
store: { type: memory }
admin: { port: ${admin}, secret: { env: ADMIN }, write: true }
prices:
  fast: { input: 0.60, output: 2.40 }
  smart: { input: 3.00, output: 15.00 }
  "*": free
groups: { research: { limits: { budget: 50 USD/day } } }
keys:
  alice: { secret: { env: ALICE }, models: ["*"], group: research, limits: { budget: 0.05 USD/day } }
  team: { secret: { env: TEAM }, models: ["*"], group: research }
  ci: { secret: { env: CI_KEY }, models: ["fast"], limits: { requests: 40/min } }
upstreams:
  draw: { kind: simulator-imagine }
  west: { kind: simulator-chat }
  east: { kind: simulator-chat }
  north: { kind: simulator-messages, traits: { max_output: 4096 } }
  sim: { kind: simulator }
models:
  fast:
    - { upstream: west, as: "sim-text?latency=40ms&jitter=160ms&failure-rate=0.08&status=503" }
    - { upstream: east, as: "sim-text?latency=60ms&jitter=300ms" }
  smart:
    - { upstream: north, as: "sim-messages?latency=250ms&jitter=900ms", weight: 3 }
    - { upstream: sim, as: "sim-messages?latency=250ms&jitter=500ms", weight: 1 }
  flaky: { upstream: east, as: "sim-text?failure-rate=0.3&status=500" }
  embed: { upstream: sim, as: sim-embed }
  sim-image: sim
  sim-speech: sim
  sim-transcribe: sim
  sim-video: sim
  sim-realtime: sim
  sim-imagine: draw
`

const folder = mkdtempSync(join(tmpdir(), 'console-shots-'))
const [port, adminPort] = [await freePort(), await freePort()]
const [origin, admin] = [port, adminPort].map(one => `http://127.0.0.1:${one}`)
writeFileSync(join(folder, 'gateway.yaml'), yaml(port, adminPort))
const gateway = spawn(process.execPath, [join(ROOT, 'bin/gateway.js'), 'serve', join(folder, 'gateway.yaml')], {
  env: { ...process.env, ADMIN, ALICE: KEYS.alice, TEAM: KEYS.team, CI_KEY: KEYS.ci },
  stdio: ['ignore', 'ignore', 'inherit'],
})

async function ready() {
  for (let tries = 0; tries < 200; tries++) {
    if ((await fetch(`${origin}/readyz`).catch(() => undefined))?.ok) return
    await delay(100)
  }
  throw new Error('the gateway does not start')
}

let isOver = false

/** One client: asks again and again, now more and now less often. */
async function client(key, path, body, everyMs) {
  while (!isOver) {
    const answer = await fetch(origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEYS[key]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => undefined)
    await answer?.text()
    await delay(everyMs * (0.4 + Math.random() * 1.2) * (1.4 + Math.sin(Date.now() / 60_000)))
  }
}

async function shoot(browser, theme, width) {
  const context = await browser.newContext({
    viewport: { width, height: width < 721 ? 740 : 900 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await page.goto(admin)
  await page.getByLabel('Admin key').fill(ADMIN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const { data } = await (await context.request.get(`${admin}/admin/requests?limit=100&model=fast`)).json()
  const line = data.find(({ attempts }) => attempts?.length > 1 || attempts > 1) ?? data[0]
  for (const [name, path] of Object.entries({ ...VIEWS, request: `/requests/${line.id}` })) {
    await page.goto(admin + path)
    await page.locator('h2, .empty, .turns, .list').first().waitFor()
    await page.waitForTimeout(600)
    const picture = await page.screenshot({ path: join(values.out, `${name}-${theme}-${width}.png`) })
    if (!values.docs || width !== 1440 || !DOCUMENTED.includes(name)) continue
    const file = `console-${name}${theme === 'dark' ? '-dark' : ''}.png`
    writeFileSync(join(ROOT, 'docs/images', file), smallPng(picture))
  }
  await context.close()
}

try {
  await ready()
  mkdirSync(values.out, { recursive: true })
  const messages = [{ role: 'user', content: 'Tell me about the sea' }]
  for (let n = 0; n < 3; n++) {
    void client('team', '/v1/chat/completions', { model: 'fast', messages, stream: true }, 250)
    void client('team', '/v1/messages', { model: 'smart', messages, max_tokens: 200, stream: true }, 700)
  }
  void client('alice', '/v1/chat/completions', { model: 'fast', messages, stream: true }, 400)
  void client('alice', '/v1/embeddings', { model: 'embed', input: 'a cat' }, 900)
  void client('ci', '/v1/chat/completions', { model: 'fast', messages }, 900)
  void client('team', '/v1/chat/completions', { model: 'flaky', messages }, 5000)
  void client('team', '/v1/videos', { model: 'sim-video', prompt: 'Waves' }, 60_000)
  await delay(Number(values.seconds) * 1000)
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  for (const theme of ['light', 'dark'])
    for (const width of [1440, 360]) if (`${theme}-${width}`.includes(values.only)) await shoot(browser, theme, width)
  await browser.close()
} finally {
  isOver = true
  gateway.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
