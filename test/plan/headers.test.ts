import t from 'tap'
import { requestFilter, responseFilter } from '../../src/plan/headers.js'

const filterOf = (request: readonly string[], held: Iterable<string>, trace = false) =>
  requestFilter({ request, response: [], trace }, held)

t.test('what is declared passes, by name or by glob, and nothing else', async t => {
  const pass = filterOf(['x-trace-*', 'x-beta'], [])
  t.ok(pass('x-beta') && pass('x-trace-id'))
  t.notOk(pass('x-trace') || pass('x-beta2') || pass('accept-language'))
})

t.test('nothing is declared: nothing passes', async t => {
  t.notOk(filterOf([], [])('x-a') || responseFilter([])('x-a'))
})

const CONNECTION = [
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
  'content-length',
]

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
    t.notOk(filterOf(['*', name], [])(name))
  })
}

for (const name of [...CONNECTION, 'set-cookie', 'server', 'www-authenticate', 'access-control-allow-origin']) {
  t.test(`F-U20 ${name} never passes to a client, even where every header does`, async t => {
    t.notOk(responseFilter(['*', name])(name))
  })
}

t.test("headers that hold callers' keys never pass, regardless of what the globs say", async t => {
  const pass = filterOf(['*'], new Set(['x-api-key']))
  t.notOk(pass('x-api-key'))
  t.ok(pass('x-other'))
})

t.test('the headers of a trace pass unless it is declared that they do not', async t => {
  for (const name of ['traceparent', 'tracestate', 'baggage']) {
    t.ok(filterOf([], [], true)(name))
    t.notOk(filterOf([], [], false)(name))
    t.notOk(filterOf([], [name], true)(name), 'what the upstream declares itself stays')
  }
})
