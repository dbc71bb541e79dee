import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { body, bytes, CHAT_ANSWER, chatEvent, chunk, DONE, head, json, LAST_CHUNK, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError, streamError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

const ANSWER = JSON.stringify(CHAT_ANSWER)

async function playing(t: Test, ...scripts: Script[]): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

t.test('F-U17 no coding is asked for unless the client does', async t => {
  const { gateway, upstream } = await playing(t, json(CHAT_ANSWER))
  await gateway.chat()
  t.ok([undefined, 'identity'].includes(upstream.requests.items[0]?.header('accept-encoding')))
})

t.test('F-U17 a coding that no one asked for is 502, a bomb is never unpacked', async t => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  for (const [name, data] of [
    ['gzip', gzipSync(ANSWER)],
    ['gzip', bomb],
    ['br', Buffer.from(ANSWER)],
    [Array.from({ length: 1000 }, () => 'gzip').join(', '), gzipSync(ANSWER)],
  ] as const) {
    const { gateway } = await playing(t, body(data, { headers: { 'content-encoding': name } }))
    const answer = await gateway.chat()
    if (answer.status === 200) {
      t.equal(answer.header('content-encoding'), name, 'passed raw, and labelled')
      t.same(answer.body, data)
    } else compatibleError(t, answer, 502, 'bad_upstream_response')
  }
})

t.test('F-U18 interim answers are dropped', async t => {
  const interim =
    'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 Odd\r\n\r\n'
  const { gateway } = await playing(t, async peer => {
    await peer.send(interim)
    await json(CHAT_ANSWER)(peer)
  })
  const answer = await gateway.chat()
  t.same(answer.json(), CHAT_ANSWER)
  t.notMatch(answer.head.raw.toString(), /link|preload/)
})

t.test('F-U18 a 100 that no one asked for does no more harm than a lost connection', async t => {
  const { gateway } = await playing(t, async peer => {
    await peer.send('HTTP/1.1 100 Continue\r\n\r\n')
    await json(CHAT_ANSWER)(peer)
  })
  const answer = await gateway.chat()
  if (answer.status === 200) t.same(answer.json(), CHAT_ANSWER)
  else compatibleError(t, answer, 502)
})

t.test('F-U18 trailers are dropped', async t => {
  const trailers = '0\r\nx-secret: 1\r\nset-cookie: a=b\r\n\r\n'
  const { gateway } = await playing(t, async peer => {
    await peer.send(
      head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', trailer: 'x-secret' }),
    )
    await peer.send(chunk(chatEvent('a') + DONE))
    await peer.send(trailers)
  })
  const client = await gateway.open('/v1/chat/completions', {
    body: { model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true },
  })
  const answer = await client.answer()
  t.equal(answer.text, chatEvent('a') + DONE)
  t.notMatch(answer.head.raw.toString(), /trailer|secret|cookie/i)
  t.equal(client.open, true, 'the connection is good for more')
})

t.test('F-U19 a body short of its length never looks whole', async t => {
  const { gateway } = await playing(t, async peer => {
    await peer.send(
      head(200, { 'content-type': 'application/json', 'content-length': `${ANSWER.length + 10}` }) + ANSWER,
    )
    await peer.finish()
  })
  const answer = await gateway.chat().catch(() => undefined)
  t.ok(answer === undefined || !answer.whole || answer.status === 502)
})

t.test('F-U19 an answer that has no body has no length', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(async peer => {
    await peer.send(head(204, { 'content-type': 'text/plain', 'content-length': '12' }))
    await peer.finish()
  })
  // The other transport refuses such an answer.
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'transport: fast\n'))
  const answer = await gateway.chat()
  t.equal(answer.status, 204)
  t.equal(answer.header('content-length'), undefined)
})

t.test('F-U19 a body over its length is cut there, and the connection is not used again', async t => {
  const { gateway, upstream } = await playing(
    t,
    bytes(
      `${head(200, { 'content-type': 'application/json', 'content-length': `${ANSWER.length}` })}${ANSWER}HTTP/1.1 200 OK\r\n\r\nsmuggled`,
    ),
    json(CHAT_ANSWER),
  )
  const first = await gateway.chat()
  if (first.status === 200) t.same(first.json(), CHAT_ANSWER)
  else compatibleError(t, first, 502)
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.equal(upstream.connections.items.length, 2)
})

const FRAMING: readonly (readonly [string, string])[] = [
  [
    'content-length and transfer-encoding',
    head(200, { 'content-type': 'application/json', 'content-length': '2', 'transfer-encoding': 'chunked' }) +
      chunk('{}').toString() +
      LAST_CHUNK,
  ],
  ['two lengths', `${head(200, { 'content-type': 'application/json', 'content-length': ['2', '3'] })}{}`],
  ['a length that is no number', `${head(200, { 'content-type': 'application/json', 'content-length': '0x2' })}{}`],
  ['a negative length', `${head(200, { 'content-type': 'application/json', 'content-length': '-2' })}{}`],
  [
    'a chunk size that is no number',
    `${head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })}0_2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['another HTTP version', 'HTTP/3.7 200 OK\r\n\r\n'],
  ['bare line feeds and a space before the colon', 'HTTP/1.1 200 OK\ncontent-length : 2\n\n{}'],
  ['a NUL in a header', `${head(200, { 'content-type': 'application/json', 'x-a': 'b\0c', 'content-length': '2' })}{}`],
]

for (const [title, text] of FRAMING) {
  t.test(`F-U19 an answer with ${title} is 502`, async t => {
    const { gateway } = await playing(t, async peer => {
      await peer.send(text)
      await peer.finish()
    })
    compatibleError(t, await gateway.chat(), 502)
  })
}

t.test('F-U19 a chunk that breaks the framing mid-stream ends with an error event', async t => {
  const { gateway } = await playing(t, async peer => {
    await peer.send(head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }))
    await peer.send(chunk(chatEvent('one')))
    await peer.send('zzz\r\nbroken\r\n')
    await peer.gone()
  })
  streamError(t, await gateway.chat({ stream: true }))
})

t.test('F-U20 only headers on the list pass, hop-by-hop ones and cookies never', async t => {
  const headers = {
    ...{
      'set-cookie': ['session=1', 'b=2'],
      server: 'secret-server/1.2',
      via: '1.1 inner',
      connection: 'x-hop',
      'x-hop': '1',
    },
    ...{
      'keep-alive': 'timeout=5',
      'proxy-authenticate': 'Basic',
      upgrade: 'h2c',
      'x-powered-by': 'inner',
      'x-request-id': 'theirs',
    },
    ...{
      'access-control-allow-origin': '*',
      'strict-transport-security': 'max-age=1',
      'content-language': 'en',
      'retry-after': '3',
    },
  }
  const { gateway } = await playing(t, json(CHAT_ANSWER, { headers }))
  const answer = await gateway.chat()
  const names = answer.head.fields.map(([name]) => name.toLowerCase())
  for (const name of [
    'set-cookie',
    'server',
    'via',
    'x-hop',
    'proxy-authenticate',
    'upgrade',
    'x-powered-by',
    'access-control-allow-origin',
  ])
    t.notOk(names.includes(name), `${name} stays behind`)
  t.equal(answer.header('content-language'), 'en')
  t.not(answer.header('x-request-id'), 'theirs')
})

t.test('F-U20 two hundred headers are borne', async t => {
  const headers = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-filler-${i}`, 'v']))
  const { gateway } = await playing(t, json(CHAT_ANSWER, { headers }))
  const answer = await gateway.chat()
  t.equal(answer.status, 200)
  t.ok(answer.head.fields.length < 20)
})

t.test('F-U20 a head that is too large is 502', async t => {
  const { gateway } = await playing(t, json(CHAT_ANSWER, { headers: { 'x-huge': 'v'.repeat(200_000) } }))
  compatibleError(t, await gateway.chat(), 502)
})

t.test('F-U20 a header cannot split the answer', async t => {
  const { gateway } = await playing(
    t,
    json(CHAT_ANSWER, {
      headers: { 'content-language': 'en\rset-cookie: a=b', 'cache-control': 'no-store\r\nx-injected: 1' },
    }),
  )
  const answer = await gateway.chat()
  t.notMatch(answer.head.raw.toString('latin1'), /^(x-injected|set-cookie)/im)
})

for (const status of [301, 302, 303, 307, 308]) {
  t.test(`F-U21 a ${status} is not followed, and no key goes to the new host`, async t => {
    const trap = await startRawUpstream(t, { host: '127.0.0.3' })
    trap.answer(json(CHAT_ANSWER))
    const { gateway } = await playing(
      t,
      body('', { status, headers: { location: `${trap.origin}/v1/chat/completions` } }),
    )
    const answer = await gateway.chat()
    compatibleError(t, answer, 502, 'bad_upstream_response')
    t.equal(answer.header('location'), undefined)
    t.equal(trap.connections.items.length, 0)
  })
}

for (const [manner, statuses] of [
  ['and waits', [413]],
  // The system may tell of the broken connection before it hands the answer over.
  ['and ends its connection', [413, 502]],
] as const)
  t.test(
    `F-U23 an upstream that answers before the request has gone out ${manner}: the client gets its answer`,
    async t => {
      const upstream = await startRawUpstream(t, { read: 'head' })
      upstream.answer(async peer => {
        await json(
          { error: { message: 'too large', type: 'invalid_request_error', param: null, code: null } },
          { status: 413 },
        )(peer)
        if (manner === 'and waits') await peer.gone()
        else await peer.finish()
      })
      const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
      const answer = await gateway.chat({ messages: [{ role: 'user', content: 'x'.repeat(8 * 1024 * 1024) }] })
      t.ok(
        statuses.some(status => status === answer.status),
        `status ${answer.status}`,
      )
      if (answer.status === 413) t.match(answer.json(), { error: { message: 'too large' } })
      await upstream.closes.count(1)
    },
  )

const CONTENTS = [{ role: 'user', parts: [{ text: 'x' }] }]
const WITHOUT_USAGE: readonly (readonly [path: string, asked: object, answer: object])[] = [
  ['/v1/moderations', { input: 'x' }, { id: 'modr-1', model: 'm', results: [] }],
  ['/v1/responses/input_tokens', { input: 'x' }, { object: 'response.input_tokens', input_tokens: 1 }],
  ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'x' }] }, { input_tokens: 1 }],
  ['/v1beta/models/m:countTokens', { contents: CONTENTS }, { totalTokens: 1 }],
  ['/v1beta/models/m:predict', { instances: [{ prompt: 'x' }] }, { predictions: [] }],
]

for (const [path, asked, answer] of WITHOUT_USAGE) {
  t.test(`F-U13 a page of HTML is no answer to ${path}, though it tells no usage`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(answer), body('<!doctype html><p>It works!', { headers: { 'content-type': 'text/html' } }))
    const speaks =
      'speaks: { moderations: POST /v1/moderations, responses.input_tokens: POST /v1/responses/input_tokens, ' +
      'messages.count_tokens: POST /v1/messages/count_tokens, predict: "POST /v1beta/models/{model}:predict", ' +
      'generate.count_tokens: "POST /v1beta/models/{model}:countTokens" }'
    const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", ${speaks} } }\nmodels: { m: up }\n`
    const gateway = await startTestGateway(t, yaml)
    const ask = () => gateway.request(path, { body: path.startsWith('/v1/') ? { model: 'm', ...asked } : asked })
    t.same((await ask()).json(), answer)
    const refused = await ask()
    t.equal(refused.status, 502)
    t.equal(refused.header('x-gateway-error'), 'bad_upstream_response')
    t.notMatch(refused.text, /It works/)
  })
}

/** Errors that arrive with status 200, and the status that the client gets. */
const ERRORS_OF_200: readonly (readonly [title: string, body: object, status: number])[] = [
  ['says no status', { error: { message: 'overloaded', type: 'server_error', code: 'overloaded' } }, 502],
  ['says its status', { error: { message: 'slow down', code: 429 }, user_id: 'u' }, 429],
  ['refuses the request', { error: { message: 'no such model', code: 404 } }, 404],
  ['is a text', { error: 'overloaded' }, 502],
  ['is of the type error', { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 502],
]

for (const [title, said, status] of ERRORS_OF_200) {
  t.test(
    `F-U14 a JSON answer of status 200 that is an error and ${title}: it counts, and the client sees it`,
    async t => {
      const { gateway } = await playing(t, json(said), json(said))
      for (const stream of [false, true]) {
        const answer = await gateway.chat({ stream })
        t.equal(answer.status, status)
        t.same(answer.json(), said)
        t.match(await gateway.log.find(line => line.msg === 'request' && line.id === answer.header('x-request-id')), {
          outcome: status < 500 ? 'client_error' : 'upstream_error',
          status,
        })
      }
    },
  )
}

t.test('F-U14 a JSON answer of status 200 that is an error lets another target answer', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  first.answer(json({ error: { message: 'overloaded' } }))
  second.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [a, b] }\n`)
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
})

t.test('what an answer of a protocol that no one declared means by an error is not known', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ error: 'none' }))
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { checks: POST /checks } } }\n` +
      'routes: { POST /checks: { protocol: checks, body: json, model: body.model } }\nmodels: { m: up }\n',
  )
  const answer = await gateway.request('/checks', { body: { model: 'm' } })
  t.equal(answer.status, 200)
  t.same(answer.json(), { error: 'none' })
})

t.test("F-U12 an error of status 200 that is about the gateway's own key is not shown", async t => {
  const { gateway } = await playing(t, json({ error: { message: 'bad key', code: 401 } }))
  const answer = await gateway.chat()
  compatibleError(t, answer, 502, 'upstream_auth')
  t.notMatch(answer.text, /bad key/)
})

t.test('an answer with an empty error, or one behind other members, is an answer', async t => {
  for (const said of [
    { error: null, ...CHAT_ANSWER },
    { error: '', ...CHAT_ANSWER },
    { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'x' } },
  ]) {
    const { gateway } = await playing(t, json(said))
    const answer = await gateway.chat()
    t.equal(answer.status, 200)
    t.same(answer.json(), said)
  }
})

t.test('usage counts at the beginning of a large answer as well as at its end', async t => {
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
  const { usage: _, ...rest } = { ...CHAT_ANSWER, filler: 'x'.repeat(100_000) } as Record<string, unknown>
  for (const said of [
    { usage, ...rest },
    { ...rest, usage },
  ]) {
    const { gateway } = await playing(t, json(said))
    t.same((await gateway.chat()).json(), said)
    t.match(await gateway.log.find(line => line.msg === 'request'), { input_tokens: 3, output_tokens: 5 })
  }
})

t.test('a stream reaches the client event by event, the first one at once', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  upstream.answer(stream([chatEvent('a'), chatEvent('b'), DONE]))
  let release: () => void = () => undefined
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  upstream.answer(async peer => {
    await peer.send(head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }))
    await peer.send(chunk(chatEvent('a')))
    await held
    await peer.send(chunk(DONE))
    await peer.send(LAST_CHUNK)
  })
  const client = await gateway.open('/v1/chat/completions', {
    body: { model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] },
  })
  const answerHead = await client.head()
  const first = await client.body(answerHead, got => got.includes('\n\n'))
  t.equal(first.body.toString(), chatEvent('a'), 'while the upstream still waits')
  release()
  await client.socket.destroy()
})

proveNoLeak(t)
