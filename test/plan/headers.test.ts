import t from 'tap'
import { requestFilter, responseFilter } from '../../src/plan/headers.js'

t.test('what is declared passes, by name or by glob, and nothing else', async t => {
  const pass = requestFilter(['x-trace-*', 'x-beta'], [])
  t.ok(pass('x-beta') && pass('x-trace-id'))
  t.notOk(pass('x-trace') || pass('x-beta2') || pass('accept-language'))
})

t.test('nothing is declared: nothing passes', async t => {
  t.notOk(requestFilter([], [])('x-a') || responseFilter([])('x-a'))
})

const CONNECTION = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length']

for (const name of [
  ...CONNECTION,
  'host',
  'expect',
  'cookie',
  'authorization',
  'proxy-authorization',
  'x-request-id',
]) {
  t.test(`F-C13 ${name} never passes to an upstream, even where every header does`, async t => {
    t.notOk(requestFilter(['*', name], [])(name))
  })
}

for (const name of [...CONNECTION, 'set-cookie', 'server', 'www-authenticate', 'access-control-allow-origin']) {
  t.test(`F-U20 ${name} never passes to a client, even where every header does`, async t => {
    t.notOk(responseFilter(['*', name])(name))
  })
}

t.test("headers that hold callers' keys never pass, whatever the globs say", async t => {
  const pass = requestFilter(['*'], new Set(['x-api-key']))
  t.notOk(pass('x-api-key'))
  t.ok(pass('x-other'))
})
