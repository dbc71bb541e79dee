import t from 'tap'
import { request } from '../helpers/raw-client.js'
import { keyStage } from '../helpers/store-keys.js'
import { storeYaml, temporary } from '../helpers/store-kinds.js'

// Limits of keys of the store: the words are those of the file, and so is what they do.

const LIMITED = ['--requests', '2/day', '--routes', 'POST /v1/chat/*']

t.test('limits of a key of the store hold, also where the file has none, and change at run time', async t => {
  const stage = keyStage(t, storeYaml({ type: 'file', path: temporary(t) }))
  const free = await stage.secretOf('create', 'bob')
  const process = await stage.serve()
  t.equal(await process.status(free), 200, 'nothing is counted yet')
  const secret = await stage.secretOf('create', 'ann', ...LIMITED)
  t.equal(await process.reaches(200, secret), 200)
  t.equal(await process.status(secret), 200)
  t.equal(await process.status(secret), 429)
  await stage.keys('limit', 'ann', '--requests', '3/day')
  t.equal(await process.reaches(200, secret), 200)
  t.equal(await process.status(secret), 429)
  await stage.keys('limit', 'ann', '--requests', 'none')
  t.equal(await process.reaches(200, secret), 200)
  const models = await request(t, process.origin, '/v1/models', { key: secret })
  t.equal(models.status, 403, 'another route')
  t.equal(await process.status(free), 200)
})

t.test('a process that starts counts from its first request on', async t => {
  const stage = keyStage(t, storeYaml({ type: 'file', path: temporary(t) }))
  const secret = await stage.secretOf('create', 'ann', ...LIMITED)
  const process = await stage.serve()
  const statuses = [await process.status(secret), await process.status(secret), await process.status(secret)]
  t.same(statuses, [200, 200, 429])
})

t.test('a key of the store has the limits of its group in the file', async t => {
  const more = 'groups: { small: { limits: { requests: 1/day } } }\n'
  const stage = keyStage(t, storeYaml({ type: 'file', path: temporary(t) }), more)
  const [ann, bob] = [
    await stage.secretOf('create', 'ann', '--group', 'small'),
    await stage.secretOf('create', 'bob', '--group', 'small'),
  ]
  await t.rejects(stage.keys('create', 'eve', '--group', 'smal'), /did you mean|smal/)
  const process = await stage.serve()
  t.equal(await process.status(ann), 200)
  t.equal(await process.status(bob), 429, 'the group is shared')
})
