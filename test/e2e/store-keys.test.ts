import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyStage, proveSharing } from '../helpers/store-keys.js'
import { storeYaml, temporary } from '../helpers/store-kinds.js'

// Keys of the store: made by the command, used in several processes.

t.test('a key that the command creates, rotates and revokes is so in every process: file', t =>
  proveSharing(t, storeYaml({ type: 'file', path: temporary(t) })),
)

t.test('a key of the store may use its models alone, and expires', async t => {
  const stage = keyStage(t, storeYaml({ type: 'file', path: temporary(t) }))
  const secret = await stage.secretOf('create', 'ann', '--models', 'sim-other', '--expires', '2090-01-01')
  const process = await stage.serve()
  t.equal(await process.status(secret), 404)
  const listed = (await stage.keys('list', '--json'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.match(listed, [
    { name: 'caller', source: 'file' },
    { name: 'ann', source: 'store', models: ['sim-other'], expires: '2090-01-01', state: 'active' },
  ])
})

t.test('a key of the file wins a name: that of the store is refused, and the log and the list say so', async t => {
  const stage = keyStage(t, storeYaml({ type: 'file', path: temporary(t) }))
  const secret = await stage.secretOf('create', 'caller')
  const process = await stage.serve()
  t.equal(await process.status(secret), 401)
  t.equal(await process.status('the-key-of-the-caller-0123456789'), 200)
  await process.bin.until(/a key of the store is refused: a key of the file has its name/)
  t.match(await stage.keys('list'), /caller +store .*refused: the file has a key of that name/)
})

t.test('only digests of secrets are stored', async t => {
  const folder = temporary(t)
  const stage = keyStage(t, storeYaml({ type: 'file', path: folder }))
  const secrets = [await stage.secretOf('create', 'ann')]
  const process = await stage.serve()
  t.equal(await process.status(secrets[0] ?? ''), 200)
  secrets.push(await stage.secretOf('rotate', 'ann', '--keep', '1h'))
  process.bin.child.kill('SIGKILL')
  await process.bin.ended
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(file => statSync(file).isFile())
    .map(file => readFileSync(file))
  t.ok(
    all.some(bytes => bytes.includes('"ann"')),
    'the keys are in these files',
  )
  for (const secret of secrets) {
    const random = secret.slice('gw-'.length)
    t.notOk(all.some(bytes => bytes.includes(random) || bytes.includes(Buffer.from(random, 'base64url'))))
  }
})
