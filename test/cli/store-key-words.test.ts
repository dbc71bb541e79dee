import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { temporary } from '../helpers/store-kinds.js'
import { run, start } from './bin.js'

/** What commands say of keys that are not in the file. */

function fileWith(test: Test, keys: string, store = '{ type: file, path: ./data }'): string {
  const file = join(temporary(test), 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1\nlisten: { port: 0 }\nstore: ${store}\n${keys}upstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n`,
  )
  return file
}

const REQUEST = ['explain', 'POST', '/v1/chat/completions', '--model', 'sim-text']

t.test('explain shows the limits of a key of the store, also where the file has none', async t => {
  const file = fileWith(t, '')
  const made = await run(['keys', 'create', 'team', '-f', file, '--requests', '3/min', '--models', 'sim-*'])
  t.equal(made.code, 0, made.stderr)
  const { code, stdout, stderr } = await run([...REQUEST, '-f', file, '--key', 'team'])
  t.equal(code, 0, stderr)
  t.match(stdout, /key team: requests 3\/min/)
  const other = await run([...REQUEST, '-f', file, '--key', 'nobody'])
  t.equal(other.code, 1)
  const barred = await run(['explain', 'POST', '/v1/chat/completions', '--model', 'other', '-f', file, '--key', 'team'])
  t.equal(barred.code, 1, 'its models hold')
})

t.test('a key whose group has left the file is unfit, and list, explain and the admin API say why', async t => {
  const { line, origin } = await adminLine()
  const file = fileWith(t, `groups: { small: {} }\n${line}\n`)
  t.equal((await run(['keys', 'create', 'ann', '-f', file, '--group', 'small'])).code, 0)
  writeFileSync(file, readFileSync(file, 'utf8').replace('small', 'large'))
  t.match((await run(['keys', 'list', '-f', file])).stdout, /ann +store .*unfit: group: .*"small"/)
  const explained = await run([...REQUEST, '-f', file, '--key', 'ann'])
  t.match(explained.stderr, /key ann of the store is refused, because its terms do not fit this file: group: .*"small"/)
  await start(t, ['serve', file], { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } }).until(/"listening"/)
  const { warning } = (await adminOf(t, origin)('GET', '/admin/keys/ann')).json()
  t.match(warning, /^unfit for the file, and refused: group: .*"small"/)
})

t.test('explain refuses a key of the store that has expired or is disabled', async t => {
  const { line, origin } = await adminLine()
  const file = fileWith(t, `${line}\n`)
  await start(t, ['serve', file], { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } }).until(/"listening"/)
  for (const [why, terms] of [
    ['expired', { expires: '2020-01-01' }],
    ['disabled', { disabled: true }],
  ] as const) {
    t.equal((await adminOf(t, origin)('POST', '/admin/keys', { name: why, ...terms })).status, 201)
    const explained = await run([...REQUEST, '-f', file, '--key', why, '--expect', '401'])
    t.equal(explained.code, 0, explained.stderr)
    t.match(explained.stdout, `this key is ${why}`)
  }
})

t.test('explain says that keys in the memory of a gateway are not shown', async t => {
  const file = fileWith(t, '', '{ type: memory }')
  const { code, stderr } = await run([...REQUEST, '-f', file, '--key', 'team'])
  t.equal(code, 1)
  t.match(stderr, /in its memory.*admin API/)
})

t.test('validate and the banner tell of keys of the store where the file has none', async t => {
  const file = fileWith(t, '')
  t.match((await run(['validate', file])).stdout, /gets 401 unless its key is in the store/)
  const bin = start(t, ['serve', file])
  t.match((await bin.until(/no keys in .*/))[0], 'no keys in the file: only those of the store')
})

t.test('create and limit warn of terms that have no effect, and of budgets over what has no price', async t => {
  const file = fileWith(t, '')
  const north = 'north: { kind: openai-compatible, base: "http://127.0.0.1:9" }'
  const yaml = readFileSync(file, 'utf8').replace('sim: { kind: simulator }', `$&, ${north}`)
  writeFileSync(file, yaml.replace('sim-text: sim', '$&, far: north'))
  const made = await run(['keys', 'create', 'ann', '-f', file, '--routes', 'PUT /zzz', '--models', 'sim-*,nothing'])
  t.equal(made.code, 0, made.stderr)
  t.match(made.stderr, 'warning: routes: no route matches "PUT /zzz", so it permits nothing')
  t.match(made.stderr, /warning: models\[1\]: no model is called "nothing"/)
  t.notMatch(made.stderr, 'price')
  const priced = await run(['keys', 'limit', 'ann', '-f', file, '--budget', '5 USD/day'])
  t.notMatch(priced.stderr, 'price', 'the simulator is free')
  t.notMatch(priced.stderr, 'which wins')
  const budget = await run(['keys', 'create', 'bob', '-f', file, '--budget', '5 USD/day'])
  t.equal(budget.code, 0)
  t.match(
    budget.stderr,
    'warning: limits.budget: no price is known for "far", which it refuses; write prices, or unpriced',
  )
  writeFileSync(file, `${yaml}keys: { ann: { secret: { env: ANN } } }\n`)
  const shadowed = await run(['keys', 'limit', 'ann', '-f', file, '--budget', 'none'], { env: { ANN: 'x'.repeat(32) } })
  t.match(shadowed.stderr, 'warning: the file has a key ann, which wins: the one of the store is refused')
})
