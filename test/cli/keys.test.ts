import { createHash } from 'node:crypto'
import t from 'tap'
import { parse } from 'yaml'
import { run } from './bin.js'

interface Lines {
  readonly keys: Readonly<Record<string, { secret: { hash: string }; models?: string[]; expires?: string }>>
}

/** The key and the YAML lines that the command prints. */
function read(stdout: string): { key: string; yaml: string } {
  const at = stdout.indexOf('keys:')
  return { key: stdout.slice(0, stdout.indexOf(' ')), yaml: stdout.slice(at) }
}

t.test('keys new prints a key once, and YAML with its hash and never itself', async t => {
  const { code, stdout } = await run(['keys', 'new', 'team-search'])
  const { key, yaml } = read(stdout)
  const hash = createHash('sha256').update(key).digest('hex')
  t.equal(code, 0)
  t.match(key, /^gw-[A-Za-z0-9_-]{43}$/)
  t.strictSame(parse(yaml), { keys: { 'team-search': { secret: { hash: `sha256:${hash}` } } } })
  t.equal(stdout.split(key).length, 2)
})

t.test('keys new writes models and expiry', async t => {
  const { stdout } = await run(['keys', 'new', 'a', '--models', 'swift-*, embed-small', '--expires', '2999-12-31'])
  const { keys } = parse(read(stdout).yaml) as Lines
  t.strictSame(keys.a?.models, ['swift-*', 'embed-small'])
  t.equal(keys.a?.expires, '2999-12-31')
})

t.test('names that YAML would read as something else are quoted', async t => {
  for (const name of ['on', '1', 'null', '1.5', '0x1']) {
    const { keys } = parse(read((await run(['keys', 'new', name])).stdout).yaml) as Lines
    t.strictSame(Object.keys(keys), [name])
  }
})

t.test('two keys are never the same', async t => {
  const both = await Promise.all([run(['keys', 'new', 'a']), run(['keys', 'new', 'a'])])
  t.not(read(both[0].stdout).key, read(both[1].stdout).key)
})

t.test('a bad name, list or date is refused, and no key is printed', async t => {
  const bad = [
    ['a b'],
    ['a: b'],
    ['a', '--models', 'x,,y'],
    ['a', '--expires', 'tomorrow'],
    ['a', '--expires', '2999-02-31x'],
    ['a', '--expires', '2998-02-30'],
    ['a', '--expires', '2998-02-30T12:00:00Z'],
    ['a', '--expires', '2001-01-01'],
  ]
  for (const args of bad) {
    const { code, stdout, stderr } = await run(['keys', 'new', ...args])
    t.equal(code, 2, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, /^error: /)
  }
})

t.test('keys new --json prints one object', async t => {
  const { stdout } = await run(['keys', 'new', 'team', '--models', 'a,b-*', '--json'])
  const { key, ...rest } = JSON.parse(stdout)
  const hash = `sha256:${createHash('sha256').update(key).digest('hex')}`
  t.strictSame(rest, { name: 'team', hash, entry: { secret: { hash }, models: ['a', 'b-*'] } })
})
