import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { main } from '../../src/cli/main.js'
import { providers } from '../../src/cli/providers.js'
import { template } from '../../src/cli/template.js'
import { packageRoot } from '../../src/core/package-root.js'
import { sample } from '../helpers/sample.js'
import { run } from './bin.js'

/** A terminal whose user types these lines. */
function terminal(lines: readonly string[]) {
  let shown = ''
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const left = [...lines]
  const stdout = Object.assign(
    new Writable({
      write(data: Buffer, _encoding, done) {
        shown += data.toString()
        if (shown.endsWith('spaces): ')) {
          const line = left.shift()
          setImmediate(() => (line === undefined ? stdin.end() : stdin.write(`${line}\n`)))
        }
        done()
      },
    }),
    { isTTY: true },
  )
  return { io: { stdin, stdout, stderr: stdout, env: { NO_COLOR: '1', TERM: 'dumb' } }, shown: () => shown }
}

t.test('init writes a file that validates, for every provider there is', async t => {
  const names = (await providers()).map(provider => provider.name)
  const cwd = t.testdir({})
  const { code, stderr } = await run(['init', '--provider', ...names], { cwd })
  t.equal(stderr, '')
  t.equal(code, 0)
  const checked = await run(['validate', '--strict'], { cwd })
  t.equal(checked.code, 0, checked.stdout)
  t.match(checked.stdout, `${names.length} upstreams`)
})

t.test('the first steps of the guide fit what init writes', async t => {
  const guide = readFileSync(join(packageRoot(), 'docs', 'start.md'), 'utf8')
  const [, args = ''] = /^npx gateway (init .*)$/m.exec(guide) ?? []
  const [, alice = ''] = /^keys:\n( {2}alice: .*\n)/m.exec(guide) ?? []
  const cwd = t.testdir({})
  const env = { KEY_ALICE: 'a-key-of-alice-0123456789', OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: 'a' }
  t.equal((await run(args.split(' '), { cwd })).code, 0)
  const file = join(cwd, 'gateway.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^keys:\n/m, `keys:\n${alice}`))
  const checked = await run(['validate', '--strict'], { cwd, env })
  t.equal(checked.code, 0, checked.stdout)
  const explained = await run(
    ['explain', 'POST', '/v1/chat/completions', '--model', 'openai/gpt-4o', '--key', 'alice'],
    { cwd, env },
  )
  t.match(explained, { code: 0, stdout: /^1 {2}openai as gpt-4o$/m })
  writeFileSync(file, readFileSync(file, 'utf8').replace(', unpriced: refuse', ''))
  const { stdout } = await run(['validate'], { cwd, env })
  t.match(stdout, 'no price is known for "openai/*": write unpriced: refuse beside the budget')
})

t.test('init of one provider validates for each of them', async t => {
  const folder = t.testdir({})
  for (const { name } of sample('providers for init', await providers(), 20)) {
    const { io, shown } = terminal([])
    t.equal(await main(['init', join(folder, `${name}.yaml`), '--provider', name], io), 0, `${name}: ${shown()}`)
  }
})

t.test('init of image tasks serves requests that name no model', async t => {
  const cwd = t.testdir({})
  t.equal((await run(['init', '--provider', 'midjourney-proxy,new-api'], { cwd })).code, 0)
  const text = readFileSync(join(cwd, 'gateway.yaml'), 'utf8')
  t.match(text, 'midjourney: midjourney-proxy # requests with body.botType: MID_JOURNEY, or nothing')
  t.match(text, 'niji: midjourney-proxy # requests with body.botType: NIJI_JOURNEY')
  t.notMatch(text, '"midjourney-proxy/*"', 'no route leads a name of that kind there')
  t.match(text, '"new-api/*": { upstream: new-api, as: "*" }')
  const { stdout } = await run(['explain', 'POST', '/mj/submit/imagine'], { cwd })
  t.match(stdout, 'call   POST https://midjourney-proxy.invalid/mj/submit/imagine')
})

t.test('init describes each upstream, and prints the next steps', async t => {
  const cwd = t.testdir({})
  const all = await providers()
  const keyed = all.find(one => one.variable !== undefined && one.base !== undefined)
  const unplaced = all.find(one => one.base === undefined)
  const args = ['init', '--provider', keyed?.name ?? '', unplaced?.name ?? '']
  const { stdout } = await run(args, { cwd })
  const text = readFileSync(join(cwd, 'gateway.yaml'), 'utf8')
  t.match(text, `# ${keyed?.description}`)
  t.match(text, `secret: { env: ${keyed?.variable} }`)
  t.match(text, `https://${unplaced?.name}.invalid`)
  t.match(stdout, `export ${keyed?.variable}=`)
  t.match(stdout, `set the base of ${unplaced?.name}`)
  t.match(stdout, 'gateway serve gateway.yaml')
})

t.test('the line for editors leads to the schema, beside the package and anywhere else', async t => {
  const line = (text: string) => /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1] ?? ''
  const cwd = t.testdir({ 'a folder': {} })
  t.equal((await run(['init', '--provider', 'simulator'], { cwd: join(cwd, 'a folder') })).code, 0)
  const far = new URL(line(readFileSync(join(cwd, 'a folder', 'gateway.yaml'), 'utf8')))
  t.equal(far.protocol, 'file:')
  t.match(JSON.parse(readFileSync(far, 'utf8')), { title: 'gateway.yaml' })
  const near = line(template(join(packageRoot(), 'mine.yaml'), [], 'GATEWAY_KEY'))
  t.equal(near, './schemas/gateway.schema.json', 'a path that holds on other machines')
})

t.test('init accepts addresses and the variable of the key', async t => {
  const cwd = t.testdir({})
  const args = ['init', '--provider', 'vllm', '--base', 'vllm=http://10.0.0.7:8000', '--key-env', 'TEAM_KEY']
  t.equal((await run(args, { cwd })).code, 0)
  const text = readFileSync(join(cwd, 'gateway.yaml'), 'utf8')
  t.match(text, 'base: "http://10.0.0.7:8000"')
  t.match(text, 'secret: { env: TEAM_KEY, generate: true }')
})

t.test('init overwrites a file only on request', async t => {
  const cwd = t.testdir({ 'gateway.yaml': 'mine' })
  const refused = await run(['init', '--provider', 'simulator'], { cwd })
  t.equal(refused.code, 1)
  t.match(refused.stderr, '--force')
  t.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), 'mine')
  t.equal((await run(['init', '--provider', 'simulator', '--force'], { cwd })).code, 0)
  t.match(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), 'simulator: { kind: simulator }')
})

t.test('init --provider list prints the providers and writes nothing', async t => {
  const cwd = t.testdir({})
  const { code, stdout } = await run(['init', '--provider', 'list'], { cwd })
  t.equal(code, 0)
  for (const { name, description } of await providers()) t.match(stdout, `${name} `, description)
  t.throws(() => readFileSync(join(cwd, 'gateway.yaml')))
})

t.test('init refuses unknown names, and suggests known ones', async t => {
  const cwd = t.testdir({})
  const bad: readonly (readonly [string[], string])[] = [
    [['--provider', 'simulater'], 'did you mean "simulator"?'],
    [['--provider', 'simulator', 'team.yaml'], 'put the file first, or after --'],
    [['--provider', 'simulator', '--base', 'vllm=http://x'], '"vllm", which is not among the chosen providers'],
    [['--provider', 'vllm', '--base', 'vllm'], 'NAME=https://'],
    [['--provider', 'simulator', '--key-env', 'a-b'], 'capital letters'],
    [[], '--provider'],
  ]
  for (const [args, message] of bad) {
    const { code, stderr } = await run(['init', ...args], { cwd })
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
  }
  t.throws(() => readFileSync(join(cwd, 'gateway.yaml')))
})

t.test('on a terminal init asks until it is answered, by number or by name', async t => {
  const file = join(t.testdir({}), 'gateway.yaml')
  const all = await providers()
  const simulator = all.findIndex(one => one.name === 'simulator') + 1
  const { io, shown } = terminal(['', 'olama', `${simulator}, ollama`])
  t.equal(await main(['init', file], io), 0, shown())
  t.match(shown(), 'did you mean "ollama"?')
  t.match(shown(), `gateway serve ${file}`)
  const text = readFileSync(file, 'utf8')
  t.match(text, 'kind: simulator')
  t.match(text, 'kind: ollama')
})

t.test('a terminal that is closed ends init, and nothing is written', async t => {
  const file = join(t.testdir({}), 'gateway.yaml')
  const { io, shown } = terminal([])
  t.equal(await main(['init', file], io), 1)
  t.match(shown(), 'nothing was written')
  t.throws(() => readFileSync(file))
})

t.test('a terminal that is closed behind a wrong answer ends init as well', async t => {
  const file = join(t.testdir({}), 'gateway.yaml')
  const { io, shown } = terminal([])
  io.stdin.end('no-such-provider\n')
  t.equal(await main(['init', file], io), 1)
  t.match(shown(), 'nothing was written')
  t.notMatch(shown(), 'bug')
})

t.test('init --json prints what was written and the next steps', async t => {
  const { code, stdout } = await run(['init', 'team.yaml', '--provider', 'simulator', '--json'], { cwd: t.testdir() })
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { file: 'team.yaml', valid: true, next: [/serve team\.yaml/] })
})
