import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
if (skip !== false) console.error(`# SKIPPED: ${skip}`)

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
  for (const name of readdirSync(BUNDLE).filter(file => file.endsWith('.js'))) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
    t.notMatch(readFileSync(join(BUNDLE, name), 'utf8'), /^.*[^\x00-\x7f].*$/m, name)
  }
})
