import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { Bin } from './bin.js'

/** The bundle, which `bin/gateway.js` runs. */

const BUNDLE = join(packageRoot(), 'dist/bundle')
const KEY = 'the-key-of-the-caller-0123456789'
const CONFIG = `version: 1
store: { type: memory }
keys: { me: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { sim: { kind: simulator } }
models:
`
/** More YAML than is parsed without the thread. */
const MANY_MODELS = Array.from({ length: 400 }, (_, index) => `  model-number-${index}: sim\n`).join('')

const skip = existsSync(BUNDLE) || process.env.CI === 'true' ? false : 'the bundler is not installed'

t.test('a start from the bundle serves, and its reload finds the thread that reads', { skip }, async t => {
  const file = join(t.testdir({ 'gateway.yaml': `${CONFIG}  first: sim\n` }), 'gateway.yaml')
  const bin = new Bin(['serve', file, '--port', '0', '--no-watch'], { env: { CALLER_KEY: KEY }, bare: true })
  t.teardown(() => bin.child.kill('SIGKILL'))
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  t.same(await models(origin), ['first'])
  writeFileSync(file, `${CONFIG}${MANY_MODELS}`)
  bin.child.kill('SIGHUP')
  await bin.until(/"generation":2/)
  t.equal((await models(origin)).length, 400)
})

t.test("what a store of the user's own says of its faults is understood", { skip }, async t => {
  const [index, memory] = ['dist/index.js', 'dist/stores/memory.js'].map(
    path => pathToFileURL(join(packageRoot(), path)).href,
  )
  const module = `import { StoreError } from '${index}'
import { MemoryStore } from '${memory}'
class MyStore extends MemoryStore {
  async get(namespace, owner, key) {
    if (owner === 'me') throw new StoreError('unavailable', 'the server is away')
    return super.get(namespace, owner, key)
  }
}
export const openStore = options => {
  if (options.isNewer === true) throw new StoreError('newer', 'the table is of version 2')
  return new MyStore()
}
`
  const yaml = (options: string): string =>
    `${CONFIG}  first: sim\n`.replace('{ type: memory }', `{ type: ./store.mjs, options: ${options} }`)
  const folder = t.testdir({ 'store.mjs': module, 'gateway.yaml': yaml('{}'), 'newer.yaml': yaml('{ isNewer: true }') })
  const started = (file: string): Bin =>
    new Bin(['serve', join(folder, file), '--port', '0', '--no-watch'], { env: { CALLER_KEY: KEY }, bare: true })
  const bin = started('gateway.yaml')
  t.teardown(() => bin.child.kill('SIGKILL'))
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  const answer = await fetch(`${origin}/v1/responses/resp_1`, { headers: { authorization: `Bearer ${KEY}` } })
  t.equal(answer.status, 503)
  t.match(await answer.json(), { error: { code: 'unavailable' } })
  const { code, stderr } = await started('newer.yaml').ended
  t.equal(code, 1)
  t.match(stderr, /^error: the table is of version 2$/m)
})

async function models(origin: string): Promise<readonly string[]> {
  const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
  const { data } = (await answer.json()) as { data: readonly { id: string }[] }
  return data.map(model => model.id)
}

t.test('dependencies stay packages of their own, which users can update', { skip }, async t => {
  const texts = readdirSync(BUNDLE).map(name => readFileSync(join(BUNDLE, name), 'utf8'))
  for (const name of ['yaml', 'undici', 'ws', 'lmdb', 'chokidar', 'commander']) {
    const asked = new RegExp(`(?:from |\\()["']${name}["/]`)
    t.ok(
      texts.some(text => asked.test(text)),
      name,
    )
  }
})

t.test('the bundle is ASCII: one other character doubles the memory of its whole file', { skip }, async t => {
  for (const name of readdirSync(BUNDLE).filter(file => /\.c?js$/.test(file))) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
    t.notMatch(readFileSync(join(BUNDLE, name), 'utf8'), /^.*[^\x00-\x7f].*$/m, name)
  }
})

t.test('what is compiled of a bundle is kept, and used only for the same text', t => {
  const folder = t.testdir({ 'main.cjs': 'exports.answer = () => 1', kept: {} })
  const kept = join(folder, 'kept')
  const only = (): string => join(kept, readdirSync(kept).join())

  t.equal(answerOf(folder), '1')
  const first = only()
  const { ino } = statSync(first)
  t.equal(answerOf(folder), '1')
  t.equal(statSync(only()).ino, ino, 'what is kept is good for the same text: it is not made again')

  writeFileSync(join(folder, 'main.cjs'), 'exports.answer = () => 2')
  t.equal(answerOf(folder), '2', 'another text of the same length')
  t.not(only(), first, 'the form of the old text is gone')

  writeFileSync(only(), 'damaged')
  t.equal(answerOf(folder), '2')
  t.not(readFileSync(only(), 'latin1'), 'damaged', 'it is made anew')
  t.equal(answerOf(folder), '2')
  t.end()
})

t.test('a module that is known only at run time is loaded, also by a bundle whose compiled form was kept', t => {
  const url = "require('node:url').pathToFileURL('own.mjs').href"
  const main = `exports.answer = () => { importModule(${url}).then(own => console.log(own.default)); return '' }`
  const folder = t.testdir({ 'main.cjs': main, 'own.mjs': 'export default 7', kept: {} })
  t.equal(answerOf(folder), '7')
  t.equal(answerOf(folder), '7')
  const bundle = readFileSync(join(packageRoot(), 'dist/bundle/main.cjs'), 'latin1')
  t.equal(/[^\w.$]import\(/.exec(bundle.replace(/^ *(\/\/|\*).*$/gm, ''))?.[0], undefined, 'the bundle has no import()')
  t.match(bundle, /importModule\(/)
  t.end()
})

/** What a process prints that loads `main.cjs` of a folder, and keeps what it compiled in `kept`. */
function answerOf(folder: string): string {
  const script = `
    import { loadBundle } from ${JSON.stringify(pathToFileURL(join(packageRoot(), 'bin/bundle.js')).href)}
    console.log(loadBundle(process.cwd() + '/main.cjs', 'kept', 0).answer())
    setTimeout(() => undefined, 20)`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder })
  return stdout.toString().trim() || stderr.toString()
}
