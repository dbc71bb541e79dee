import t from 'tap'
import { keyStage, proveSharing } from '../helpers/store-keys.js'
import { DURABLE, redisConfig, storesOf, storeYaml, temporary } from '../helpers/store-kinds.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'

// Keys of a store on another machine.

for (const kind of DURABLE.filter(({ type }) => type !== 'file')) {
  const title = `a key that the command creates, rotates and revokes is so in every process: ${kind.type}`
  t.test(title, { skip: kind.skip }, async t => proveSharing(t, await storesOf(t, kind)(t)))
}

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
