import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import t from 'tap'
import { parse } from 'yaml'
import { runFiles } from '../../src/cli/testing/run-files.js'
import { isObject, type JsonObject } from '../../src/core/json.js'
import { packageRoot } from '../../src/core/package-root.js'
import type { Problem } from '../../src/core/problems.js'
import { loadPlan } from '../../src/runtime/load.js'

/**
 * The YAML of README and docs/: a block that is ```yaml is a configuration, or a part of one that is valid with what
 * {@link WRAPPER} has. One that is not valid says so, with the reason, in a comment on the line above. Blocks that are ```yml are
 * other files: those with `tests` are run.
 */

const ROOT = packageRoot()
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs')).flatMap(name => (name.endsWith('.md') ? `docs/${name}` : [])),
]
const TLS = join(ROOT, 'test', 'fixtures', 'tls')
const LEAST_EXAMPLES = 70

/** What examples of a part may name. Their own entries win. */
const WRAPPER = parse(`version: 1
telemetry: { otlp: { endpoint: "http://127.0.0.1:4318" } }
groups: { staff: {}, research: {} }
keys: { team: { secret: { env: TEAM }, models: ["*"] } }
upstreams:
  north: { kind: openai-compatible, base: https://north.example/v1, secret: { env: NORTH } }
  south: { kind: openai-compatible, base: https://south.example/v1, secret: { env: SOUTH } }
  east: { kind: openai-compatible, base: https://east.example/v1, secret: { env: EAST } }
  west: { kind: openai-compatible, base: https://west.example/v1, secret: { env: WEST }, speaks: { credits: GET /credits } }
  openai: { kind: openai, secret: { env: OPENAI_API_KEY } }
  gemini: { kind: gemini, secret: { env: GEMINI_API_KEY } }
  openrouter: { kind: openrouter, secret: { env: OPENROUTER_API_KEY } }
  sim: { kind: simulator }
  drawer: { kind: midjourney-proxy, base: https://drawer.example, secret: { env: DRAWER } }
models:
  o3: { upstream: openai, request: [{ rename: { max_tokens: max_completion_tokens } }] }
  swift-long: north
  swift-small: north
  careful: north
  drawing-6: drawer
  "sim-video*": sim
  sim-realtime: sim
  swift-guard: north
  swift-paint: north
  drawing-7: drawer
`) as JsonObject

/** Files that examples name, relative to the configuration. */
const FILES = {
  'first.pem': ['corporate.pem', 'gateway.pem', 'authority.pem', 'tls.crt'],
  'first.key': ['gateway.key', 'tls.key'],
} as const
const RECORDING = JSON.stringify({
  request: { method: 'POST', url: 'https://api.example/v1/chat/completions', body: {} },
  response: { status: 200, body: {} },
})

interface Example {
  readonly place: string
  readonly info: string
  readonly text: string
  /** Why it is not valid. */
  readonly reason: string | undefined
}

function* examplesOf(page: string): Iterable<Example> {
  const text = readFileSync(join(ROOT, page), 'utf8')
  for (const { 0: whole, 1: reason, 2: info = '', 3: example = '', index } of text.matchAll(
    /^(?:<!-- not valid: (.+) -->\n)?```(ya?ml[^\n]*)\n([\s\S]*?)^```$/gm,
  )) {
    const line = text.slice(0, index + whole.indexOf('```')).split('\n').length
    yield { place: `${page}:${line}`, info, text: example, reason }
  }
}

const EXAMPLES = PAGES.flatMap(page => [...examplesOf(page)])

/** The same with what it lacks, entry by entry. */
function completed(part: JsonObject): JsonObject {
  const sections = Object.entries(WRAPPER).map(([name, value]) => {
    const own = part[name]
    return [name, isObject(value) && isObject(own) ? { ...value, ...own } : (own ?? value)] as const
  })
  return { ...part, ...Object.fromEntries(sections) }
}

async function problemsOf(text: string, folder: string): Promise<readonly Problem[]> {
  const { problems } = await loadPlan({
    ...{ file: join(folder, 'gateway.yaml'), env: {}, secrets: 'assume' },
    text: Buffer.from(text.replaceAll('/etc/gateway/', `${folder}/`)),
  })
  return problems.filter(({ severity }) => severity === 'error')
}

async function faultOf(example: string, folder: string): Promise<string | undefined> {
  const whole = /^version:/m.test(example) ? example : `version: 1\n${example}`
  if ((await problemsOf(whole, folder)).length === 0) return undefined
  const part = parse(example) as JsonObject
  const [problem] = await problemsOf(JSON.stringify(completed(part)), folder)
  return problem && `${problem.path}: ${problem.message}`
}

t.test('each configuration of the documentation is valid, or says why it is not', async t => {
  const folder = t.testdir({})
  for (const [from, names] of Object.entries(FILES))
    for (const name of names) cpSync(join(TLS, from), join(folder, name))
  for (const recordings of ['recordings', 'tests/cassettes']) {
    mkdirSync(join(folder, recordings), { recursive: true })
    writeFileSync(join(folder, recordings, 'one.json'), RECORDING)
  }
  const configs = EXAMPLES.filter(({ info }) => info === 'yaml')
  t.ok(configs.length >= LEAST_EXAMPLES, `${configs.length} examples`)
  for (const { place, text, reason } of configs) {
    const fault = await faultOf(text, folder)
    if (reason === undefined) t.equal(fault, undefined, place)
    else t.type(fault, 'string', `${place} is valid, and is said not to be: ${reason}`)
  }
})

t.test('the tests of the documentation pass', async t => {
  const folder = t.testdir({ 'gateway.yaml': JSON.stringify(WRAPPER) })
  const others = EXAMPLES.filter(({ info }) => info !== 'yaml')
  const tests = others.filter(({ text }) => /^ *(tests|request):/m.test(text))
  t.ok(tests.length >= 2, `${tests.length} tests`)
  const files = tests.map(({ text }, at) => {
    const file = join(folder, `${at}.test.yaml`)
    writeFileSync(file, text.startsWith(' ') ? `tests:\n${text}` : text)
    return file
  })
  const stdout = new Sink()
  const stderr = new Sink()
  const options = { format: 'tap', update: false, watch: false } as const
  const code = await runFiles(files, options, { stdout, stderr, stdin: Readable.from([]), env: {} })
  t.equal(code, 0, stdout.text + stderr.text)
})

class Sink extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}
