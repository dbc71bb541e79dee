import { join, relative } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { commandTree, withCommandsBelow } from '../../src/cli/command-tree.js'
import { build } from '../../src/cli/main.js'
import { packageRoot } from '../../src/core/package-root.js'
import { sameAsGolden } from '../helpers/golden-file.js'
import { command } from './in-process.js'

// What commands print, in full. Others have theirs where they are tested: config errors, explain, lint, plan, generations.

const DIFFERENCE = join(packageRoot(), 'test/golden/difference')
const env = { K: 'a-key-of-the-golden-texts-0123456789' }

const FILE = `version: 1
keys: { alice: { secret: { env: K }, models: ["*"], routes: [GET /v1/models] } }
upstreams:
    sim: {kind: simulator}   # answers by itself
models:
  sim-text: sim
`
const MODELS = `version: 1
keys: { alice: { secret: { env: K }, models: ["*"] } }
upstreams:
  sim: { kind: simulator }
  north: { kind: openai-compatible, base: https://north.example, secret: { env: K } }
  south: { kind: groq, secret: { env: ABSENT } }
models:
  swift: { targets: [{ upstream: north, as: swift-2 }, sim], protocols: [chat, completions, embeddings, rerank, speech] }
  slow: south
  "sim-*": { upstream: sim, protocols: [chat, messages] }
  film: { upstream: sim, as: sim-video, protocols: [videos] }
prices: { swift-2: { input: 0.5, output: 2 } }
`
const TESTS = `tests:
  answers:
    request: { to: POST /v1/chat/completions, body: { model: sim-text, messages: [{ role: user, content: hi }] } }
    expect: { upstream: sim, status: 200 }
  fails:
    request: { to: POST /v1/chat/completions, body: { model: absent, messages: [{ role: user, content: hi }] } }
    expect: { status: 200 }
`
const LITELLM = `model_list:
  - model_name: swift
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, rpm: 10, drop_params: false }
litellm_settings: { drop_params: true, set_verbose: true }
`
const request = (model: string, key: string): string =>
  `{"msg":"request","time":"2026-01-01T00:00:00.000Z","id":"${model}","method":"POST","path":"/v1/chat/completions","route":"POST /v1/chat/completions","key":"${key}","model":"${model}","upstream":"north","status":200,"usage":{"input":100,"output":20}}`

interface Golden {
  readonly files: Readonly<Record<string, string>>
  readonly args: (at: (name: string) => string) => readonly string[]
  /** Those lines that are the same on every machine; absent: all. */
  readonly lines?: RegExp
}

const IN_DIFFERENCE = (name: string): string => join(DIFFERENCE, name)

const COMMANDS: Readonly<Record<string, Golden>> = {
  blast: { files: {}, args: () => ['blast', 'north', '-f', IN_DIFFERENCE('new.yaml')] },
  doctor: {
    files: { 'gateway.yaml': FILE.replace('sim: {', 'off: { kind: groq, secret: { env: ABSENT } }\n    sim: {') },
    args: at => ['doctor', at('gateway.yaml'), '--offline'],
    lines: /^(?:\w+ +(?:file|secret|connection|credential) | {4,}Set |---)/,
  },
  fmt: { files: { 'gateway.yaml': FILE }, args: at => ['fmt', '--check', at('gateway.yaml')] },
  import: { files: { 'litellm.yaml': LITELLM }, args: at => ['import', 'litellm', at('litellm.yaml')] },
  models: { files: { 'gateway.yaml': MODELS }, args: at => ['models', at('gateway.yaml')] },
  openapi: { files: { 'gateway.yaml': FILE }, args: at => ['openapi', '-f', at('gateway.yaml'), '--key', 'alice'] },
  test: {
    files: { 'gateway.yaml': FILE.replace(', routes: [GET /v1/models]', ''), 'gateway.test.yaml': TESTS },
    args: at => ['test', at('gateway.test.yaml')],
  },
  traffic: {
    files: { log: `${request('swift', 'alice')}\n${request('new', 'bob')}\n${request('gone', 'alice')}\n` },
    args: at => ['plan', IN_DIFFERENCE('old.yaml'), IN_DIFFERENCE('new.yaml'), '--traffic', at('log')],
  },
  validate: { files: { 'gateway.yaml': FILE }, args: at => ['validate', at('gateway.yaml')] },
}

for (const [name, { files, args, lines = /^/ }] of Object.entries(COMMANDS)) {
  t.test(`gateway ${name}`, async t => {
    const folder = t.testdir({ ...files })
    const given = args(file => join(folder, file))
    const text = await printed(t, folder, given)
    sameAsGolden(
      t,
      name,
      text.replaceAll(/^.*\n/gm, line => (lines.test(line) ? line : '')),
    )
  })
}

const MAN_PAGES = ['', 'serve', 'record', 'rollback', 'keys', 'keys create']

t.test('gateway completion and gateway man', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await command(['completion', shell])
    t.equal(code, 0)
    sameAsGolden(t, `completion-${shell}`, stdout)
  }
  for (const words of MAN_PAGES) {
    const { code, stdout } = await command(['man', ...words.split(' ').filter(Boolean)])
    t.equal(code, 0)
    const name = ['man', ...words.split(' ').filter(Boolean)].join('-')
    sameAsGolden(t, name, stdout.replaceAll(/(?<=model-gateway )\d+\.\d+\.\d+[\w.-]*/g, 'VERSION'))
  }
})

/** What a terminal of the usual height shows at once, and a tall one. */
const MAX_PROGRAM_LINES = 24
const MAX_COMMAND_LINES = 40
const MAX_COLUMNS = 100

t.test('the help of every command fits a terminal', async t => {
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {}, stdin: Readable.from([]) }
  const nodes = withCommandsBelow(commandTree(build(io, () => undefined)))
  const paths = nodes.map(({ path }) => path).filter(path => path.at(-1) !== 'help')
  t.ok(paths.length > 40, `${paths.length} commands`)
  const texts: string[] = []
  for (const path of paths) {
    const { code, stdout } = await command([...path, '--help'])
    const lines = stdout.trimEnd().split('\n')
    const name = ['gateway', ...path].join(' ')
    t.equal(code, 0, name)
    const most = path.length === 0 ? MAX_PROGRAM_LINES : MAX_COMMAND_LINES
    t.ok(lines.length <= most, `${name} --help has ${lines.length} lines of at most ${most}`)
    const widest = Math.max(...lines.map(line => line.length))
    t.ok(widest <= MAX_COLUMNS, `${name} --help is ${widest} columns wide of at most ${MAX_COLUMNS}`)
    texts.push(`--- ${name} --help\n${stdout}`)
  }
  sameAsGolden(t, 'help', texts.join(''))
})

/** Both outputs and the exit status, without the folder of the test, times, and what depends on the shipped routes. */
async function printed(t: Test, folder: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args, { env })
  t.ok(code <= 1, stderr)
  const text = `${stdout}--- standard error\n${stderr}--- exit status ${code}\n`
  const folders = [folder, DIFFERENCE].flatMap(one => [`${one}/`, `${relative(process.cwd(), one)}/`])
  return folders
    .reduce((rest, one) => rest.replaceAll(one, ''), text)
    .replaceAll(/\b\d+(\.\d+)? m?s\b/g, 'N ms')
    .replaceAll(/\b\d+ routes\b/g, 'N routes')
    .replaceAll(/(?<="version": ")[0-9a-f]{12}/g, 'DIGEST')
}
