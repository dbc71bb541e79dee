import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
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
