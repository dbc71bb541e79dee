import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sameAsGolden } from '../helpers/golden-file.js'
import { run, start } from './bin.js'
import { TEST_KEY } from './files.js'

const CONFIG = `version: 1
listen: { port: 0 }
keys: { team: { secret: { env: TEST_KEY }, models: ["*"] } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim, sim-embed: sim }
`

t.test('record serves, and writes the exchanges of the chosen models', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG })
  const bin = start(t, ['record', '--model', 'sim-text', '--into', 'tapes'], { cwd, env: { TEST_KEY } })
  const [origin = ''] = await bin.until(/http:\/\/127\.0\.0\.1:\d+/)
  // The log says earlier that it listens.
  await bin.until(/Say hello/)
  const ask = async (path: string, body: object): Promise<number> => {
    const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
    await answer.text()
    return answer.status
  }
  t.equal(await ask('/v1/embeddings', { model: 'sim-embed', input: 'no' }), 200)
  t.equal(await ask('/v1/chat/completions', { model: 'sim-text', messages: [{ role: 'user', content: 'yes' }] }), 200)
  bin.child.kill('SIGTERM')
  const { code, stdout, stderr } = await bin.ended
  t.equal(code, 0)
  const words = `${stdout}--- standard error\n${stderr}`.replaceAll(/^\{.*\n/gm, '')
  const printed = words.replaceAll(origin, 'http://127.0.0.1:PORT').replaceAll(/(?<=routes +)\d+/g, 'N')
  sameAsGolden(t, 'record', printed)
  const files = readdirSync(join(cwd, 'tapes'))
  t.equal(files.length, 1)
  t.match(files[0], /^\d{8}T[\d.]+Z-0001-chat-sim-text-[0-9a-f]{6}\.json$/)
  const text = readFileSync(join(cwd, 'tapes', files[0] ?? ''), 'utf8')
  t.notMatch(text, TEST_KEY)
  t.match(JSON.parse(text), { request: { body: { model: 'sim-text' } }, response: { status: 200 } })
})

t.test('record needs a folder', async t => {
  const { code, stderr } = await run(['record'], { cwd: t.testdir({ 'gateway.yaml': CONFIG }) })
  t.equal(code, 2)
  t.match(stderr, '--into')
})

t.test('record warns of a route that does not exist', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG })
  const bin = start(t, ['record', '--route', 'chatt', '--into', 'tapes'], { cwd, env: { TEST_KEY } })
  await bin.until(/--route: no route has the protocol "chatt".*did you mean "chat"/s)
  bin.child.kill('SIGTERM')
  t.equal((await bin.ended).code, 0)
})
