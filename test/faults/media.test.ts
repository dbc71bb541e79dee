import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { HOSTILE, pdf, png, SLOW } from '../net/hostile-hosts.js'
import { type MediaHost, sample, startMediaHost } from '../net/media-host.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

const GOOD = '127.0.0.2'
const EVIL = '127.0.0.3'
const PNG = sample('image/png')
const PDF = sample('application/pdf')

/** How a client of a protocol names a picture by URL, and where that is. */
interface Client {
  readonly path: string
  readonly at: string
  body(url: string): Readonly<Record<string, unknown>>
  /** The code, or its equivalent, and the message of an error of the family. */
  error(answer: Answer): { readonly type: string; readonly message: string }
}

const compatible = (answer: Answer): { type: string; message: string } =>
  (answer.json() as { error: { type: string; message: string } }).error

const CLIENTS = {
  chat: {
    path: '/v1/chat/completions',
    at: 'messages[0].content[1]',
    body: url => ({
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    }),
    error: compatible,
  },
  responses: {
    path: '/v1/responses',
    at: 'input[0].content[0]',
    body: url => ({
      model: 'm',
      store: false,
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }],
    }),
    error: compatible,
  },
  messages: {
    path: '/v1/messages',
    at: 'messages[0].content[0]',
    body: url => ({
      model: 'm',
      max_tokens: 10,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }],
    }),
    error: compatible,
  },
  generate: {
    path: '/v1beta/models/m:generateContent',
    at: 'contents[0].parts[0]',
    body: url => ({ contents: [{ role: 'user', parts: [{ fileData: { fileUri: url, mimeType: 'image/png' } }] }] }),
    error: answer => {
      const { status, message } = (answer.json() as { error: { status: string; message: string } }).error
      return { type: status, message }
    },
  },
} as const satisfies Readonly<Record<string, Client>>

type Name = keyof typeof CLIENTS

interface Server {
  readonly speaks: string
  readonly answer: unknown
  /** Type and base64 of the picture in the request that the upstream got. */
  picture(body: never): unknown
}

const OF_IMAGE = `data:image/png;base64,${PNG.toString('base64')}`

const SERVERS = {
  chat: {
    speaks: 'chat: POST /up',
    answer: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    },
    picture: (body: { messages: { content: { image_url?: { url: string } }[] }[] }) =>
      body.messages.flatMap(({ content }) => content).find(part => part.image_url)?.image_url?.url,
  },
  responses: {
    speaks: 'responses: POST /up',
    answer: {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'm',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'ok', annotations: [] }],
        },
      ],
    },
    picture: (body: { input: { content: { image_url?: string }[] }[] }) =>
      body.input.flatMap(({ content }) => content).find(part => part.image_url)?.image_url,
  },
  messages: {
    speaks: 'messages: POST /up',
    answer: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'ok' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    picture: (body: { messages: { content: { source?: { media_type: string; data: string } }[] }[] }) => {
      const source = body.messages.flatMap(({ content }) => content).find(part => part.source)?.source
      return `data:${source?.media_type};base64,${source?.data}`
    },
  },
  generate: {
    speaks: 'generate: "POST /up/{model}"',
    answer: { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] },
    picture: (body: { contents: { parts: { inlineData?: { mimeType: string; data: string } }[] }[] }) => {
      const data = body.contents.flatMap(({ parts }) => parts).find(part => part.inlineData)?.inlineData
      return `data:${data?.mimeType};base64,${data?.data}`
    },
  },
} as const satisfies Readonly<Record<string, Server>>

/** Pairs in which only the gateway can read the URL; other upstreams are configured not to. */
const PAIRS = (Object.keys(CLIENTS) as Name[]).flatMap(client =>
  (Object.keys(SERVERS) as Name[]).filter(server => server !== client).map(server => [client, server] as const),
)

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

/** A gateway before one upstream that does not accept URLs. `fetch` is what its configuration says of fetching. */
async function stage(t: Test, server: Name, fetch?: string, fetches = 'false'): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  const { speaks, answer } = SERVERS[server]
  upstream.answer(json(answer))
  const up = `{ base: "${upstream.origin}", speaks: { ${speaks} }, traits: { fetches_urls: ${fetches}, max_output: 100 } }`
  const media = fetch === undefined ? '' : `media: { fetch: { ${fetch} } }\n`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n${media}`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

function allowed(host: Pick<MediaHost, 'port'>, more = ''): string {
  return `allow: [${GOOD}/32], http: true, ports: [${host.port}]${more}`
}

async function ask({ gateway }: Stage, client: Name, url: string): Promise<Answer> {
  const { path, body } = CLIENTS[client]
  return await gateway.request(path, { body: body(url) })
}

/** Asserts an error of the client's family which tells the place and nothing of the network, and no request upstream. */
function refused(t: Test, { upstream }: Stage, client: Name, answer: Answer, why: RegExp): void {
  t.equal(answer.status, 400)
  const { type, message } = CLIENTS[client].error(answer)
  t.equal(type, client === 'generate' ? 'INVALID_ARGUMENT' : 'invalid_request_error')
  t.match(message, why)
  t.ok(message.includes(`'${CLIENTS[client].at}'`), message)
  t.notMatch(message, /127\.0|loopback|ECONN|:\d\d/, 'the message says nothing of the network')
  t.equal(upstream.requests.items.length, 0)
}

for (const [client, server] of PAIRS) {
  t.test(`F-X1 ${client} → ${server}: fetching is off unless it is allowed, and the error says so`, async t => {
    const host = await startMediaHost(t, GOOD, png)
    const made = await stage(t, server)
    const answer = await ask(made, client, `${host.origin}/a.png`)
    refused(t, made, client, answer, /does not accept URLs, and fetching them is not allowed here/)
    t.equal(answer.header('x-gateway-error'), 'untranslatable')
    t.equal(host.connections(), 0)
  })

  t.test(`${client} → ${server}: an upstream that fetches https alone is given no other URL`, async t => {
    const host = await startMediaHost(t, GOOD, png)
    const made = await stage(t, server, undefined, 'https')
    const answer = await ask(made, client, `${host.origin}/a.png`)
    refused(t, made, client, answer, /does not accept URLs other than https, and fetching them is not allowed here/)
    const open = await stage(t, server, allowed(host), 'https')
    t.equal((await ask(open, client, `${host.origin}/a.png`)).status, 200)
    t.equal(SERVERS[server].picture(open.upstream.requests.items[0]?.json() as never), OF_IMAGE)
    const url = 'HTTPS://pictures.example/a.png'
    t.equal((await ask(open, client, url)).status, 200)
    t.ok(open.upstream.requests.items[1]?.body.includes(url), 'what it fetches itself is sent unchanged')
    t.equal(host.requests.length, 1)
  })

  t.test(`F-X1 ${client} → ${server}: what is allowed is fetched, and the model gets its bytes`, async t => {
    const host = await startMediaHost(t, GOOD, png)
    const made = await stage(t, server, allowed(host))
    const answer = await ask(made, client, `${host.origin}/a.png`)
    t.equal(answer.status, 200, answer.text)
    const body = made.upstream.requests.items[0]?.json() as never
    t.equal(SERVERS[server].picture(body), OF_IMAGE)
    t.notOk(made.upstream.requests.items[0]?.body.includes(GOOD), 'the URL itself is not sent')
    const { headers } = host.requests[0] ?? {}
    t.strictSame(Object.keys(headers ?? {}).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
  })

  t.test(`F-X1 ${client} → ${server}: a redirect to a forbidden address makes no connection there`, async t => {
    const good = await startMediaHost(t, GOOD, (_request, response) => {
      response.writeHead(302, { location: `http://${EVIL}:${good.port}/secret` }).end()
    })
    const evil = await startMediaHost(t, EVIL, png, good.port)
    const made = await stage(t, server, allowed(good))
    refused(t, made, client, await ask(made, client, `${good.origin}/a.png`), /may not be fetched/)
    t.equal(good.requests.length, 1)
    t.equal(evil.connections(), 0)
    t.match(await made.gateway.log.find(line => line.msg === 'request'), {
      blocked: 'loopback address',
      phase: 'media',
      outcome: 'client_error',
    })
  })
}

t.test('F-X1 no spelling of an inner address is connected to, and each is logged as blocked', async t => {
  const everywhere = await startMediaHost(t, undefined, png)
  const made = await stage(t, 'generate', `allow: ["*"], http: true, ports: [${everywhere.port}, 443]`)
  // What is in a data: URL is there already.
  const urls = SSRF_URLS.map(spell => spell(everywhere.port)).filter(url => !url.startsWith('data:'))
  t.ok(urls.length >= 150, `${urls.length} spellings`)
  for (const url of urls) {
    const answer = await ask(made, 'chat', url)
    t.equal(answer.status, 400, url)
  }
  t.equal(everywhere.connections(), 0)
  t.equal(made.upstream.requests.items.length, 0)
  const lines = await made.gateway.log.count(urls.length, line => line.msg === 'request')
  t.same(
    lines.filter(line => typeof line.blocked !== 'string'),
    [],
  )
})

t.test('F-X1 nothing is fetched for an upstream that speaks the client’s protocol', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const made = await stage(t, 'chat', allowed(host))
  const answer = await ask(made, 'chat', `${host.origin}/a.png`)
  t.equal(answer.status, 200)
  t.same(made.upstream.requests.items[0]?.json(), CLIENTS.chat.body(`${host.origin}/a.png`))
  t.equal(host.connections(), 0)
})

t.test('nothing is fetched for an upstream that fetches itself', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const upstream = await startRawUpstream(t)
  upstream.answer(json(SERVERS.messages.answer))
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { messages: POST /up } } }\nmodels: { m: { upstream: up, traits: { max_output: 9 } } }\nmedia: { fetch: { ${allowed(host)} } }\n`,
  )
  const url = `${host.origin}/a.png`
  const answer = await gateway.request(CLIENTS.chat.path, { body: CLIENTS.chat.body(url) })
  t.equal(answer.status, 200, answer.text)
  t.match(upstream.requests.items[0]?.json(), { messages: [{ content: [{}, { source: { type: 'url', url } }] }] })
  t.equal(host.connections(), 0)
})

t.test('media in the results of tools are fetched too', async t => {
  const host = await startMediaHost(t, GOOD, pdf)
  const made = await stage(t, 'generate', allowed(host))
  const source = { type: 'url', url: `${host.origin}/a.pdf` }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'document', source }] }
  const answer = await made.gateway.request('/v1/messages', {
    body: {
      model: 'm',
      max_tokens: 10,
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [call] },
        { role: 'user', content: [result] },
      ],
    },
  })
  t.equal(answer.status, 200, answer.text)
  t.ok(made.upstream.requests.items[0]?.body.includes(PDF.toString('base64')))
})

t.test('a document is fetched once for all targets of a call, however often it stands in the request', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t)
  first.answer(json({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } }, { status: 503 }))
  second.answer(json(SERVERS.generate.answer))
  const up = (one: RawUpstream): string => `{ base: "${one.origin}", speaks: { ${SERVERS.generate.speaks} } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { a: ${up(first)}, b: ${up(second)} }\nmodels: { m: [a, b] }\nmedia: { fetch: { ${allowed(host)} } }\n`,
  )
  const [turn] = CLIENTS.chat.body(`${host.origin}/a.png`).messages
  const answer = await gateway.chat({ messages: [turn, turn] })
  t.equal(answer.status, 200, answer.text)
  t.equal(first.requests.items.length, 1)
  t.same(second.requests.items[0]?.json(), first.requests.items[0]?.json())
  t.equal(host.requests.length, 1)
})

for (const [name, [listener, why, more]] of Object.entries(HOSTILE)) {
  for (const client of ['chat', 'messages'] as const) {
    t.test(`F-X2 ${client} → generate: ${name} is refused`, async t => {
      const host = await startMediaHost(t, GOOD, listener)
      const made = await stage(t, 'generate', allowed(host, `, max: 64KiB${more}`))
      refused(t, made, client, await ask(made, client, `${host.origin}/a.png`), why)
      t.match(await made.gateway.log.find(line => line.msg === 'request'), { phase: 'media', outcome: 'client_error' })
    })
  }
}

t.test('F-X2 more than one request may have together is refused', async t => {
  const host = await startMediaHost(t, GOOD, png)
  for (const [more, why] of [
    [', count: 2', /more than 2 URLs/],
    [`, total: ${PNG.length * 3 - 1}`, /it is too large/],
  ] as const) {
    const made = await stage(t, 'generate', allowed(host, more))
    const messages = ['a', 'b', 'c'].flatMap(name => CLIENTS.chat.body(`${host.origin}/${name}.png`).messages)
    const answer = await made.gateway.chat({ messages })
    t.equal(answer.status, 400)
    t.match(compatible(answer).message, why)
    t.equal(made.upstream.requests.items.length, 0)
  }
})

t.test('a client that goes away ends the fetch, and nothing goes upstream', async t => {
  const fetches = new Journal<IncomingMessage>('fetches')
  const host = await startMediaHost(t, GOOD, (request, response) => {
    fetches.push(request)
    SLOW(request, response)
  })
  const made = await stage(t, 'generate', allowed(host, ', timeout: 5m'))
  const { path, body } = CLIENTS.chat
  const client = await made.gateway.open(path, { body: body(`${host.origin}/a.png`) })
  const fetch = await fetches.find(() => true)
  const closed = once(fetch.socket, 'close')
  client.socket.destroy()
  await closed
  t.match(await made.gateway.log.find(line => line.msg === 'request'), {
    outcome: 'client_abort',
    phase: 'client_abort',
  })
  t.equal(made.upstream.requests.items.length, 0)
})
