import { PassThrough } from 'node:stream'
import t from 'tap'
import { ConfigError, createGateway, StartError } from '../../src/index.js'

const YAML = `version: 1
store: { type: memory }
keys: { me: { secret: { env: EMBEDDED_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
`

t.test('a program starts a gateway with its own variables, and ends it', async t => {
  const folder = t.testdir({ 'gateway.yaml': YAML })
  process.env.EMBEDDED_KEY = 'key-of-a-program-0123456789'
  t.teardown(() => delete process.env.EMBEDDED_KEY)
  const log = new PassThrough().resume()
  const options = { file: `${folder}/gateway.yaml`, overrides: { port: 0 }, watch: false, log }
  const gateway = await createGateway(options)
  t.teardown(() => gateway.close())
  const headers = { authorization: `Bearer ${process.env.EMBEDDED_KEY}` }
  const answer = await fetch(`${gateway.origin}/v1/models`, { headers })
  t.equal(answer.status, 200)
  await answer.text()
  await t.rejects(createGateway({ ...options, overrides: { port: Number(new URL(gateway.origin).port) } }), StartError)
})

t.test('a program learns what is wrong with its file', async t => {
  const folder = t.testdir({ 'gateway.yaml': YAML.replace('sim-text: sim', 'sim-text: sin') })
  const failed = await createGateway({ file: `${folder}/gateway.yaml` }).catch((error: unknown) => error)
  t.type(failed, ConfigError)
  t.match(failed, { problems: [{ path: 'models.sim-text', suggestion: 'sim' }] })
})
