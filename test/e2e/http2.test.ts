import { once } from 'node:events'
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createSecureHttp1 } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'

interface Stage {
  readonly gateway: TestGateway
  readonly port: number
  /** `method path version body` of each request. */
  readonly requests: Journal<{ readonly line: string; readonly size: number }>
  readonly sessions: ServerHttp2Session[]
  /** Answers that are streams, as they began. */
  readonly streams: Http2ServerResponse[]
  /** Streams that ended before the server had ended them. */
  readonly aborts: Journal<string>
}

const EVENT = (text: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`

interface StageOptions {
  readonly proxied?: boolean
  /** How many the upstream allows on a connection. */
  readonly streams?: number
}

/** An upstream that speaks HTTP/2 (and HTTP/1.1), and answers by what the model's name says. */
async function stage(test: Test, words = '', options: StageOptions = {}): Promise<Stage> {
  const authority = new Authority(test)
  const requests: Stage['requests'] = new Journal('requests')
  const aborts: Stage['aborts'] = new Journal('aborts')
  const sessions: ServerHttp2Session[] = []
  const streams: Http2ServerResponse[] = []
  const server = createSecureServer({
    ...authority.issue('DNS:localhost'),
    allowHTTP1: true,
    settings: { maxConcurrentStreams: options.streams ?? 20 },
  })
  server.on('session', session => sessions.push(session))
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    let body = ''
    let size = 0
    request.on('data', (bytes: Buffer) => {
      size += bytes.length
      if (body.length < 2000) body += bytes.toString()
    })
    request.on('end', () => {
      requests.push({ line: `${request.method} ${request.url} ${request.httpVersion}`, size })
      if (body.includes('"stream":true')) {
        streams.push(response)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(EVENT('one'))
        if (body.includes('endless')) response.on('close', () => aborts.push(body))
        else if (body.includes('broken')) setImmediate(() => response.stream.close(2))
        else response.end(`${EVENT('two')}data: [DONE]\n\n`)
        return
      }
      if (body.includes('reset') && requests.items.length === 1) response.stream.close(0)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const proxy = options.proxied ? await startConnectProxy(test, { to: () => ({ host: '127.0.0.1', port }) }) : undefined
  const way = proxy === undefined ? '' : `proxy: "${proxy.origin}", `
  const up = upstreamYaml(`https://localhost:${port}`, `${way}tls: { ca: ca.pem }, http2: true${words}`)
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n  up: ${up}\nmodels: { "*": up }\n`
  const gateway = await startTestGateway(test, yaml, { files: { 'ca.pem': authority.cert } })
  return { gateway, port, requests, sessions, streams, aborts }
}

for (const proxied of [false, true]) {
  t.test(
    `requests share a connection of HTTP/2${proxied ? ' through a proxy' : ''}`,
    { skip: withoutOpenssl },
    async t => {
      const { gateway, requests, sessions } = await stage(t, '', { proxied })
      t.equal((await gateway.chat()).status, 200)
      t.equal(sessions.length, 1)
      const answers = await Promise.all(Array.from({ length: 15 }, () => gateway.chat()))
      t.ok(answers.every(({ status }) => status === 200))
      t.equal(sessions.length, 1, 'all on one connection')
      const streamed = await gateway.chat({ stream: true })
      t.match(streamed.text, /one.*two.*\[DONE\]/s)
      const boundary = 'b'
      const part = (name: string, value: string, file = ''): string =>
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
      const body = Buffer.from(
        `${part('model', 'm')}${part('file', 'x'.repeat(400_000), '; filename="a.wav"')}--${boundary}--\r\n`,
      )
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      t.equal((await gateway.request('/v1/audio/transcriptions', { body, headers })).status, 200)
      t.ok(requests.items.every(({ line }) => line.endsWith(' 2.0')))
      t.ok((requests.items.at(-1)?.size ?? 0) > 400_000, 'a form comes whole')
    },
  )
}

t.test('more requests at once than the upstream allows streams are all served', { skip: withoutOpenssl }, async t => {
  const { gateway, requests } = await stage(t)
  const answers = await Promise.all(Array.from({ length: 120 }, () => gateway.chat()))
  t.ok(answers.every(({ status }) => status === 200))
  t.equal(requests.items.length, 120)
})

t.test('an upstream that allows no streams fails its requests', { skip: withoutOpenssl }, async t => {
  const { gateway, sessions } = await stage(t, '', { streams: 0 })
  t.equal((await gateway.chat()).status, 502)
  const { length } = sessions
  t.ok(length > 0 && length < 10, `${length} connections`)
  for (const session of sessions) if (!session.closed) await once(session, 'close')
  t.equal(sessions.length, length, 'no further one')
})

t.test(
  'a client that leaves ends its stream alone, and one that breaks ends with an error event',
  { skip: withoutOpenssl },
  async t => {
    const { gateway, sessions, aborts } = await stage(t)
    t.equal((await gateway.chat()).status, 200)
    const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'endless' }] }
    const client = await gateway.open('/v1/chat/completions', { body })
    await client.body(await client.head(), bytes => bytes.includes('one'))
    client.socket.destroy()
    await aborts.count(1)
    const broken = await gateway.chat({ stream: true, messages: [{ role: 'user', content: 'broken' }] })
    t.match(broken.text, /one.*"error"/s)
    t.equal((await gateway.chat()).status, 200)
    t.equal(sessions.length, 1, 'the connection continues')
  },
)

t.test(
  'a stream that is reset without an error before its answer is a failed try',
  { skip: withoutOpenssl },
  async t => {
    const { gateway, requests } = await stage(t)
    const messages = [{ role: 'user', content: 'reset' }]
    t.equal((await gateway.chat({ messages })).status, 200)
    t.equal(requests.items.length, 2)
  },
)

t.test('an upstream that goes away is left for a new connection', { skip: withoutOpenssl }, async t => {
  const { gateway, sessions } = await stage(t)
  t.equal((await gateway.chat()).status, 200)
  sessions[0]?.close()
  t.equal((await gateway.chat()).status, 200)
  t.equal((await gateway.chat()).status, 200)
  t.equal(sessions.length, 2)
})

t.test('an upstream without HTTP/2 is spoken to in HTTP/1.1', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const versions: string[] = []
  const server = createSecureHttp1(authority.issue('DNS:localhost'), (request, response) => {
    versions.push(request.httpVersion)
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const up = upstreamYaml(
    `https://localhost:${(server.address() as AddressInfo).port}`,
    'tls: { ca: ca.pem }, http2: true',
  )
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n  up: ${up}\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml, { files: { 'ca.pem': authority.cert } })
  for (let i = 0; i < 2; i++) t.equal((await gateway.chat()).status, 200)
  t.same(versions, ['1.1', '1.1'])
})

t.test(
  'a goodbye lets the streams end that are under way, and a slow reader holds up no other stream',
  { skip: withoutOpenssl },
  async t => {
    const { gateway, sessions, streams } = await stage(t)
    const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'endless' }] }
    const slow = await gateway.open('/v1/chat/completions', { body })
    const head = await slow.head()
    await slow.body(head, bytes => bytes.includes('one'))
    slow.socket.pause()
    // More than the gateway, the client's socket and the window of the stream hold together.
    streams[0]?.write(EVENT('x'.repeat(100_000)).repeat(100))
    for (let i = 0; i < 3; i++) t.equal((await gateway.chat()).status, 200)
    t.equal(sessions.length, 1)
    sessions[0]?.goaway(0)
    t.equal((await gateway.chat()).status, 200)
    t.equal(sessions.length, 2)
    streams[0]?.end(`${EVENT('two')}data: [DONE]\n\n`)
    slow.socket.resume()
    const { body: whole } = await slow.body(head)
    t.match(whole.subarray(-100).toString(), /\[DONE\]/)
    t.ok(whole.length > 10_000_000)
  },
)
