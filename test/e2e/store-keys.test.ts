import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyStage } from '../helpers/store-keys.js'
import { DURABLE, redisConfig, storesOf, storeYaml, temporary } from '../helpers/store-kinds.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'

// Keys of the store: made by the command, used in several processes.

for (const kind of DURABLE) {
  if (kind.skip !== false) {
    console.error(`# SKIPPED: ${kind.skip}`)
    continue
  }

  t.test(`${kind.type}: a key that the command creates, rotates and revokes is so in every process`, async t => {
    const stage = keyStage(t, await storesOf(t, kind)(t))
    const [one, two] = [await stage.serve(), await stage.serve()]
    const secret = await stage.secretOf('create', 'ann')
    t.equal(await one.reaches(200, secret), 200)
    t.equal(await two.reaches(200, secret), 200)

    const next = await stage.secretOf('rotate', 'ann')
    t.equal(await one.reaches(401, secret), 401, 'the former secret is refused')
    t.equal(await two.reaches(401, secret), 401)
    t.equal(await one.status(next), 200)
    t.equal(await two.status(next), 200)

    const last = await stage.secretOf('rotate', 'ann', '--keep', '1h')
    t.equal(await one.status(last), 200)
    t.equal(await two.status(next), 200, 'the former secret works on for a while')

    await stage.keys('revoke', 'ann')
    for (const process of [one, two]) {
      for (const key of [last, next]) t.equal(await process.reaches(401, key), 401)
    }
    const again = await stage.secretOf('create', 'ann')
    t.equal(await one.reaches(200, again), 200, 'the name can be used again')
    t.equal(await one.status(last), 401)
  })
}

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

t.test(
  'without its store, known keys work on, unknown ones get 503, and guesses 401',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t, ['--appendonly', 'yes'])
    const stage = keyStage(t, storeYaml(redisConfig(temporary(t), server.port, 500)))
    const [known, unknown] = [await stage.secretOf('create', 'ann'), await stage.secretOf('create', 'bob')]
    const process = await stage.serve()
    t.equal(await process.status(known), 200)
    await server.kill()
    t.equal(await process.status(known), 200)
    t.equal(await process.reaches(503, unknown), 503)
    t.equal(await process.status(known), 200, 'after the store was found to be away')
    t.equal(await process.status(`${known.slice(0, -4)}AAAA`), 401)
    await process.bin.until(/"level":"error"/)
    await server.restart()
    t.equal(await process.reaches(200, unknown), 200)
  },
)
