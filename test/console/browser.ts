import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'

/** Where Debian's package has it. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
/** Pictures for people to look at, where CONSOLE_PICTURES is set; not committed. */
const PICTURES = join(packageRoot(), 'test/console/out')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Ends the file with a word about it where there is no browser. In CI that is an error. */
export function needsBrowser(): void {
  if (existsSync(CHROMIUM)) return
  if (process.env.CI === 'true') throw new Error(`${CHROMIUM} is missing: install Debian's package chromium`)
  console.error(`# tests of the console are skipped: ${CHROMIUM} is missing`)
  t.plan(0, 'no browser is installed')
  process.exit(0)
}

const YAML = `version: 1
listen: { host: 127.0.0.1, port: 0 }
store: { type: memory }
groups: { research: { limits: { budget: 500 USD/month } } }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  guest: { secret: { env: GUEST_KEY }, models: ["sim-text"], limits: { requests: 3/hour } }
upstreams:
  sim-chat: { kind: simulator-chat }
  sim-messages: { kind: simulator-messages, traits: { max_output: 4096 } }
  sim: { kind: simulator }
  draw: { kind: simulator-imagine }
  openai: { kind: openai, secret: { env: ABSENT_KEY } }
models:
  sim-text: [{ upstream: sim-chat }, { upstream: sim }]
  sim-messages: sim-messages
  shared: [{ upstream: sim-chat, as: sim-text, weight: 3 }, { upstream: sim, as: sim-text, weight: 1 }]
  sim-embed: sim
  sim-rerank: sim
  sim-moderate: sim
  sim-image: sim
  sim-speech: sim
  sim-transcribe: sim
  sim-video: sim
  sim-realtime: sim
  sim-imagine: draw
  "sim-imagine?*": draw
  "sim-video?*": sim
  "sim-text?*": sim-chat
  "gpt-*": openai
`

/** One that beeps, without asking whether it may be heard. */
const MICROPHONE = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']

let shared: Promise<Browser> | undefined

/** One for all tests of a file; each has a context of its own. */
function theBrowser(): Promise<Browser> {
  if (shared === undefined) {
    shared = chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', ...MICROPHONE] })
    t.teardown(async () => await (await shared)?.close())
  }
  return shared
}

export interface ConsoleTest {
  readonly gateway: TestGateway
  readonly admin: string
  readonly page: Page
  readonly browser: Browser
  /** What the page has written to its console, and errors of its scripts. */
  readonly said: string[]
  open(path: string): Promise<void>
  signIn(): Promise<void>
  /** What axe finds on the page as it is. */
  axe(): Promise<readonly string[]>
  picture(name: string): Promise<void>
}

interface ConsoleOptions {
  /** More members of `admin`, or what makes them for its origin. */
  readonly admin?: string | ((origin: string) => Promise<string>)
  readonly yaml?: string
  /** Another entry of `keys`. */
  readonly key?: string
  readonly env?: Readonly<Record<string, string>>
  /** Further files, by their path beside gateway.yaml. */
  readonly files?: Readonly<Record<string, string>>
}

/** A gateway with the simulator, and a page of a browser that is not signed in. `admin`, `yaml`: more of its configuration. */
export async function openConsole(
  test: Test,
  { admin: more = '', yaml = '', key = '', env: variables = {}, files = {} }: ConsoleOptions = {},
): Promise<ConsoleTest> {
  const { line: bare, origin: admin } = await adminLine()
  const line = bare.replace(/ }$/, `${typeof more === 'string' ? more : await more(admin)} }`)
  const env = {
    GATEWAY_ADMIN_KEY: ADMIN_SECRET,
    CALLER_KEY: 'the-key-of-the-caller-0123456789',
    GUEST_KEY: 'the-key-of-the-guest-0123456789',
    ...variables,
  }
  const gateway = await startTestGateway(test, `${YAML.replace('upstreams:', `${key}upstreams:`)}${line}\n${yaml}`, {
    ...{ env, files },
  })
  const browser = await theBrowser()
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })
  test.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const said: string[] = []
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') said.push(message.text())
  })
  page.on('pageerror', error => said.push(String(error)))
  return {
    ...{ gateway, admin, page, browser, said },
    open: async path => void (await page.goto(`${admin}${path}`)),
    signIn: async () => {
      await page.goto(admin)
      await page.getByLabel('Admin key').fill(ADMIN_SECRET)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      // The first question whether there is a session was answered with no.
      said.length = 0
    },
    axe: () => violations(page),
    picture: async name => {
      if (process.env.CONSOLE_PICTURES === undefined) return
      mkdirSync(PICTURES, { recursive: true })
      await page.screenshot({ path: join(PICTURES, `${name}.png`) })
    },
  }
}

/** The page's policy allows no script but its own: axe is run beside it, by the browser. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> }
    }
    return (await axe.run()).violations
  })
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(node => `${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`).join(' | ')}`,
  )
}

/** Whether the page can be moved sideways. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
}
