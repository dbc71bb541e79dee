import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { listening } from '../helpers/listening.js'
import { GOOD } from './files.js'
import { command } from './in-process.js'

const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET }

t.test('an address that answers with a page is not taken for the admin API', async t => {
  const server = createServer((_, response) => response.end('<!doctype html>'))
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const file = join(t.testdir({ 'gateway.yaml': GOOD }), 'gateway.yaml')
  for (const args of [
    ['generations', file, '--admin', origin],
    ['console', file, '--admin', origin],
    ['explain', file, '--at', '3', '--admin', origin],
  ]) {
    const { code, stdout, stderr } = await command(args, { env })
    t.strictSame([code, stdout], [1, ''])
    t.match(stderr, `error: ${origin} gave no JSON: is the admin API there?\n`)
  }
})

t.test('what the admin API says in refusing is shown whole', async t => {
  const message = 'there is no "north" here'
  const server = createServer((_, response) => response.writeHead(404).end(JSON.stringify({ error: { message } })))
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const file = join(t.testdir({ 'gateway.yaml': GOOD }), 'gateway.yaml')
  const { code, stderr } = await command(['generations', file, '--admin', origin], { env })
  t.equal(code, 1)
  t.match(stderr, `error: ${message}\n`)
})

/** What a server says to those without its key: the admin API, and the listener of callers. */
const REFUSALS = [
  ['send the admin key as a Bearer token', 'refuses the admin key, which is that of GATEWAY_ADMIN_KEY'],
  ['A valid API key is required.', 'is not the admin API, which listens at a port of its own'],
] as const

for (const [message, said] of REFUSALS) {
  t.test(`a refused key says where it came from, and a port of callers that it is one: ${message}`, async t => {
    const server = createServer((_, response) => response.writeHead(401).end(JSON.stringify({ error: { message } })))
    const place = `127.0.0.1:${await listening(t, server)}`
    const file = join(t.testdir({ 'gateway.yaml': GOOD }), 'gateway.yaml')
    for (const name of ['generations', 'reload']) {
      const { code, stderr } = await command([name, file, '--admin', place], { env })
      t.equal(code, 1)
      t.match(stderr, `error: http://${place} ${said}`)
    }
  })
}

t.test('only a reload has a signal in place of the admin API', async t => {
  const file = join(t.testdir({ 'gateway.yaml': GOOD }), 'gateway.yaml')
  const errorOf = async (...args: string[]) => (await command([...args, file], { env })).stderr
  t.match(await errorOf('reload'), 'write `admin: {}`, or send SIGHUP to the process\n')
  for (const args of [['generations'], ['reload', '--restart']]) t.match(await errorOf(...args), 'write `admin: {}`\n')
})
