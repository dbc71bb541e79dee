import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type Bin, run, start } from './bin.js'

const CHAT = { model: 'sim-text', messages: [{ role: 'user', content: 'hello' }] }

async function ask(bin: Bin): Promise<Response> {
  const [, origin] = await bin.until(/simulator on (http:\S+)/)
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(CHAT),
  })
}

t.test('simulate answers as an upstream, and prints one JSON line a request', async t => {
  const bin = start(t, ['simulate', '--port', '0'])
  const response = await ask(bin)
  t.equal(response.status, 200)
  t.match(await response.json(), { object: 'chat.completion', model: 'sim-text' })
  const [line] = await bin.until(/^\{.*\}$/m)
  t.match(JSON.parse(line), { method: 'POST', path: '/v1/chat/completions' })
  bin.child.kill('SIGTERM')
  t.equal((await bin.ended).code, 0)
})

t.test('simulate --log appends the lines to a file', async t => {
  const cwd = t.testdir({ 'received.jsonl': '{"before":true}\n' })
  const bin = start(t, ['simulate', '--log', 'received.jsonl'], { cwd })
  await (await ask(bin)).text()
  bin.child.kill('SIGINT')
  const { code, stdout } = await bin.ended
  t.equal(code, 0)
  t.equal(stdout, '')
  const lines = readFileSync(join(cwd, 'received.jsonl'), 'utf8').trim().split('\n')
  t.match(
    lines.map(line => JSON.parse(line)),
    [{ before: true }, { method: 'POST' }],
  )
})

t.test('F-P3 simulate on a port in use ends with one line and exit code 1', async t => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const { code, stderr } = await run(['simulate', '--port', port])
  t.equal(code, 1)
  t.match(stderr, /^error: the simulator cannot listen on .* \(EADDRINUSE\)\n$/)
})

t.test('a log file that cannot be written exits 2', async t => {
  const { code, stderr } = await run(['simulate', '--log', join(t.testdir({}), 'none', 'file')])
  t.equal(code, 2)
  t.match(stderr, 'cannot be written (ENOENT)')
})
