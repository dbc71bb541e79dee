import t, { type Test } from 'tap'
import type { RouteConfig } from '../../src/core/config.js'
import { BASE, tryLoad } from './support.js'

async function routesOf(t: Test, yaml: string, defaults = ''): Promise<Readonly<Record<string, RouteConfig>>> {
  const { config, text } = await tryLoad(t, `${BASE}${defaults}routes:\n${yaml}`)
  t.notMatch(text, /^(?!.*warning).*\d+:\d+ {2}/m)
  return config?.routes ?? {}
}

const BEARER = { in: 'header', name: 'authorization', scheme: 'Bearer' }

t.test('shipped routes are there, with the defaults of their files', async t => {
  const { config } = await tryLoad(t, BASE)
  t.same(config?.routes['POST /v1/chat/completions'], {
    caller: [BEARER],
    errors: 'compatible',
    families: [],
    protocol: 'chat',
    model: { from: 'body', name: 'model' },
    stream: { from: 'body', name: 'stream' },
    framing: { byDefault: 'sse', parameter: undefined, values: {} },
    strict: false,
    schema: 'chat.request',
    timeouts: {},
    retry: {},
    limits: {},
    references: {},
    modelHints: [],
    requiresAllModels: false,
    body: 'json',
    shipped: true,
  })
  t.match(config?.routes['POST /v1beta/models/{model}:generate'], {
    errors: 'native',
    caller: [
      { in: 'header', name: 'x-native-key' },
      { in: 'query', name: 'key' },
    ],
  })
})

t.test('a route may change requests, where they are read and never translated', async t => {
  const rename = 'request: [{ alias: { format: response_format } }]'
  const route = (parts: string): string => `${BASE}routes:\n  POST /v1/x: { ${parts}, ${rename} }\n`
  const { config } = await tryLoad(t, route('protocol: speech, model: body.model'))
  t.match(config?.routes['POST /v1/x'], { body: 'json', request: [{ alias: { format: 'response_format' } }] })
  const reported = async (parts: string): Promise<readonly string[]> => (await tryLoad(t, route(parts))).reported
  t.match(await reported('protocol: chat, model: body.model'), [/^conflict/])
  t.match((await reported('protocol: speech, model: query.model, body: raw')).at(-1), /^conflict/)
  t.match(await reported('answer: models'), [/^conflict/])
})

t.test('interfaces chooses among the shipped files; an empty list leaves all out', async t => {
  const names = async (interfaces: string): Promise<readonly string[]> =>
    Object.keys(
      (await tryLoad(t, `${BASE}interfaces: ${interfaces}\nroutes: { GET /models: { answer: models } }\n`)).config
        ?.routes ?? {},
    )
  t.same(await names('[native]'), ['POST /v1beta/models/{model}:generate', 'GET /models'])
  t.same((await tryLoad(t, `${BASE}interfaces: []\n`)).reported, ['unreachable-target 7:13'])
  t.ok((await names('[compatible]')).includes('POST /v1/embeddings'))
  t.notOk((await names('[compatible]')).includes('POST /v1beta/models/{model}:generate'))
})

t.test("a user's route takes the place of the shipped one wholly", async t => {
  const routes = await routesOf(t, '  POST /v1/chat/completions: { protocol: chat, model: body.model }\n')
  t.match(routes['POST /v1/chat/completions'], { stream: 'never', schema: undefined, shipped: false })
})

t.test('off leaves a shipped route out', async t => {
  t.notOk('POST /v1/embeddings' in (await routesOf(t, '  POST /v1/embeddings: off\n')))
})

t.test('defaults hold for the routes of their own file', async t => {
  const routes = await routesOf(
    t,
    '  POST /x: { protocol: chat, model: body.model }\n  POST /y: { protocol: chat, model: body.model, errors: messages, caller: { in: subprotocol, prefix: key. } }\n',
    'defaults: { caller: { in: header, name: X-Key }, errors: native }\n',
  )
  t.match(routes['POST /x'], { errors: 'native', caller: [{ in: 'header', name: 'x-key' }] })
  t.match(routes['POST /y'], { errors: 'messages', caller: [{ in: 'subprotocol', prefix: 'key.' }] })
  t.match(routes['POST /v1/chat/completions'], { errors: 'compatible', caller: [BEARER] })
})

t.test('without defaults a key is a bearer token', async t => {
  const routes = await routesOf(t, '  POST /x: { protocol: chat, model: body.model }\n')
  t.same(routes['POST /x']?.caller, [BEARER])
})

t.test('a stream is reported by the request, or is always or never one', async t => {
  const routes = await routesOf(
    t,
    '  POST /a: { protocol: chat, model: body.model, stream: true }\n  POST /b: { protocol: chat, model: body.model, stream: false }\n  POST /c: { protocol: chat, model: body.model, stream: query.stream }\n',
  )
  t.equal(routes['POST /a']?.stream, 'always')
  t.equal(routes['POST /b']?.stream, 'never')
  t.same(routes['POST /c']?.stream, { from: 'query', name: 'stream' })
})

t.test('streams are framed by one word, or as a parameter of the query says', async t => {
  const routes = await routesOf(
    t,
    '  POST /a: { protocol: chat, model: body.model, stream: true, framing: ndjson }\n  POST /b: { protocol: chat, model: body.model, stream: true, strict: true, framing: { default: array, parameter: alt, values: { sse: sse-crlf } } }\n  POST /c: { protocol: chat, model: body.model, stream: true, framing: { parameter: alt, values: { lines: ndjson } } }\n',
  )
  t.same(routes['POST /a']?.framing, { byDefault: 'ndjson', parameter: undefined, values: {} })
  t.match(routes['POST /b'], {
    strict: true,
    framing: { byDefault: 'array', parameter: 'alt', values: { sse: 'sse-crlf' } },
  })
  t.equal(routes['POST /c']?.framing.byDefault, 'sse')
})

t.test(
  'a body is read where something is in it or its protocol can be translated, is absent for GET, and else is bytes',
  async t => {
    const routes = await routesOf(
      t,
      '  POST /a: { protocol: chat, model: body.model }\n  POST /b: { protocol: completions, model: query.model }\n  POST /c: { protocol: completions, model: query.model, stream: body.stream }\n  POST /d: { protocol: chat, upstream: sim, schema: chat.request }\n  GET /e: { protocol: chat, upstream: sim }\n  DELETE /f: { protocol: chat, upstream: sim, body: json }\n  POST /g/{model}: { protocol: generate, model: path.model }\n',
    )
    t.same(
      Object.fromEntries(
        ['POST /a', 'POST /b', 'POST /c', 'POST /d', 'GET /e', 'DELETE /f', 'POST /g/{model}'].map(name => [
          name,
          routes[name]?.body,
        ]),
      ),
      {
        'POST /a': 'json',
        'POST /b': 'raw',
        'POST /c': 'json',
        'POST /d': 'json',
        'GET /e': 'none',
        'DELETE /f': 'json',
        'POST /g/{model}': 'json',
      },
    )
  },
)

t.test('the model that is shown is in the one parameter of the path', async t => {
  const routes = await routesOf(t, '  GET /models/{name*}: { answer: model }\n')
  t.same(routes['GET /models/{name*}']?.model, { from: 'path', name: 'name' })
})

t.test('limits, time-outs and retries of a route are read like those of the file', async t => {
  const routes = await routesOf(
    t,
    '  POST /x: { protocol: chat, model: body.model, limits: { body: 1KiB, depth: 3 }, timeouts: { idle: 1s }, retry: { attempts: 1 } }\n',
  )
  t.match(routes['POST /x'], { limits: { body: 1024, depth: 3 }, timeouts: { idle: 1000 }, retry: { attempts: 1 } })
})

t.test('routes clash where only the names of their parameters differ', async t => {
  const reported = async (...keys: string[]): Promise<readonly string[]> =>
    (await tryLoad(t, `${BASE}routes:\n${keys.map(key => `  ${key}: { answer: models }\n`).join('')}`)).reported
  t.same(await reported('GET /a/{x}', 'GET /a/{y}'), ['route-clash 10:3'])
  t.same(await reported('GET /a/{x*}', 'GET /a/{y*}'), ['route-clash 10:3'])
  t.same(await reported('GET /a/{x}:go', 'GET /a/{y}:go'), ['route-clash 10:3'])
  t.same(await reported('GET /a/{x}', 'POST /a/{y}', 'GET /a/b', 'GET /a/{x*}', 'GET /a/{x}:go', 'GET /a/{x}/c'), [])
})

t.test('over WebSockets one protocol is served as a stream, others are passed through', async t => {
  const routes = await routesOf(t, '  WS /r: { protocol: responses, model: body.model, stream: true }\n')
  t.match(routes['WS /r'], { protocol: 'responses', stream: 'always', body: 'json' })
  for (const route of ['{ protocol: chat, model: body.model, stream: true }', '{ answer: models }']) {
    const { text } = await tryLoad(t, `${BASE}routes:\n  WS /r: ${route}\n`)
    t.match(
      text,
      /a WebSocket is passed through \(add tunnel: raw\), or is \{ protocol: responses, stream: true \}/,
      route,
    )
  }
})

t.test('a tunnel is a WebSocket, and says nothing of bodies and streams', async t => {
  const routes = await routesOf(t, '  WS /r: { protocol: voice, model: query.model, tunnel: framed }\n')
  t.match(routes['WS /r'], { protocol: 'voice', tunnel: 'framed', body: 'none', stream: 'never' })
  const reported = async (route: string): Promise<string> => (await tryLoad(t, `${BASE}routes:\n  ${route}\n`)).text
  t.match(
    await reported('GET /r: { protocol: voice, model: query.model, tunnel: raw }'),
    /write the route as WS \/path/,
  )
  for (const more of ['stream: true', 'body: json', 'strict: true', 'framing: ndjson']) {
    const text = await reported(`WS /r: { protocol: voice, model: query.model, tunnel: raw, ${more} }`)
    t.match(text, /a tunnel passes everything through and has no /, more)
  }
  t.match(await reported('WS /r: { protocol: voice, model: query.model, tunnel: cooked }'), /raw|framed/)
})
