import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { listening } from '../helpers/listening.js'
import { run, start } from './bin.js'
import { TEST_KEY } from './files.js'

t.setTimeout(120_000)

t.test('a secret rotates while the files must not serve, and while they cannot', async t => {
  const used: (string | undefined)[] = []
  const upstream = createServer((request, response) => {
    used.push(request.headers.authorization)
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
  const port = await listening(t, upstream)
  const file = `version: 1
keys: { caller: { secret: { env: TEST_KEY }, models: ["*"] } }
upstreams: { up: { kind: openai-compatible, base: "http://127.0.0.1:${port}", secret: { file: ./up.key } } }
models: { one: up }
log: { level: debug }
${(await adminLine()).line}
`
  const cwd = t.testdir({ 'gateway.yaml': file, 'up.key': 'the-first-secret' })
  const env = { TEST_KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = start(t, ['serve', '--port', '0'], { cwd, env })
  await gateway.until(/listening on/)
  const [, origin = ''] = /listening on (\S+)/.exec(gateway.stdout) ?? []
  const replace = (name: string, text: string): void => {
    writeFileSync(join(cwd, 'new'), text)
    renameSync(join(cwd, 'new'), join(cwd, name))
  }
  const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' }
  const asked = async (model: string): Promise<number> => {
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] })
    return (await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })).status
  }

  replace('gateway.yaml', file.replace('one: up', 'one: up, two: up'))
  await gateway.until(/"msg":"reloaded","generation":2/)
  t.equal(await asked('two'), 200)
  t.equal((await run(['rollback', '1'], { cwd, env })).code, 0)
  t.equal(await asked('two'), 404)

  replace('up.key', 'the-second-secret')
  await gateway.until(/"msg":"reloaded","generation":4/)
  t.equal(await asked('one'), 200)
  t.equal(used.at(-1), 'Bearer the-second-secret')
  t.equal(await asked('two'), 404, 'the rollback holds')

  replace('gateway.yaml', 'version: one\n')
  await gateway.until(/"msg":"reload failed/)
  replace('up.key', 'the-third-secret')
  await gateway.until(/"msg":"reloaded","generation":5/)
  t.equal(await asked('one'), 200)
  t.equal(used.at(-1), 'Bearer the-third-secret')

  rmSync(join(cwd, 'up.key'))
  await gateway.until(/"msg":"the configuration is still invalid/)
  t.equal(await asked('one'), 200, 'a secret that is gone switches nothing off')

  replace('up.key', 'the-third-secret')
  replace('gateway.yaml', file.replace('one: up', 'one: up, three: up'))
  await gateway.until(/"msg":"reloaded","generation":6/)
  t.equal(await asked('three'), 200)
})
