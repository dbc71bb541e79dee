import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { toFetch, toNode, toUpgrade } from '../../src/index.js'
import { brokenStream, CHAT_ANSWER, chatEvent, chunk, DONE, hang, json, LAST_CHUNK } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** The gateway mounted in the frameworks that docs/library.md names, as that page says. */

const MAX_BODY_KIB = 32
const PREFIX = '/ai'
const INNER_KEY = 'key-of-the-inner-network-0123'

interface Mounted {
  readonly app: string
  readonly gateway: TestGateway
  readonly up: RawUpstream
}

/** What each framework makes of a gateway: a server that is not listening yet. */
const FRAMEWORKS: Readonly<Record<string, (gateway: TestGateway) => Promise<Server>>> = {
  Express: async gateway => {
    const app = express()
    app.use(PREFIX, toNode(gateway))
    app.use(express.json())
    app.post('/own', (request, response) => void response.json(request.body))
    return createServer(app as RequestListener)
  },
  Fastify: async gateway => {
    const app = fastify()
    app.register(async scope => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      const handle = toNode(gateway, { prefix: PREFIX })
      scope.all(`${PREFIX}/*`, (request, reply) => {
        reply.hijack()
        handle(request.raw, reply.raw)
      })
    })
    app.post('/own', async request => request.body)
    await app.ready()
    return app.server
  },
  Hono: async gateway => {
    const app = new Hono()
    const handle = toFetch(gateway, { prefix: PREFIX })
    app.all(`${PREFIX}/*`, c => handle(c.req.raw))
    app.post('/own', async c => c.json(await c.req.json()))
    return createServer(getRequestListener(app.fetch))
  },
}

async function mounted(t: Test, name: string): Promise<Mounted> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
${CALLER.replace('keys: {', 'keys: { inner: { secret: { env: INNER_KEY }, models: ["*"], networks: [10.0.0.0/8] },')}
listen: { trusted_proxies: [127.0.0.1] }
store: { type: memory }
limits: { body: ${MAX_BODY_KIB}KiB }
upstreams: { up: ${upstreamYaml(up.origin)}, sim: { kind: simulator } }
models: { m: up, sim-realtime: sim }
`,
    { env: { INNER_KEY } },
  )
  const server = await (FRAMEWORKS[name] as (gateway: TestGateway) => Promise<Server>)(gateway)
  server.on('upgrade', toUpgrade(gateway, { prefix: PREFIX }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { app: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, gateway, up }
}

for (const name of Object.keys(FRAMEWORKS)) {
  t.test(name, async t => {
    const { app, gateway, up } = await mounted(t, name)
    const client = new OpenAI({ baseURL: `${app}${PREFIX}/v1`, apiKey: gateway.key, maxRetries: 0 })
    const url = `${app}${PREFIX}/v1/chat/completions`
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }

    await t.test('an SDK gets whole answers, and the app keeps its own routes and parsers', async t => {
      up.answer(json(CHAT_ANSWER))
      const answer = await client.chat.completions.create({ ...CHAT, messages: [...CHAT.messages] })
      t.equal(answer.choices[0]?.message.content, 'hello')
      t.match(up.requests.items.at(-1)?.json(), { model: 'm', messages: CHAT.messages })
      const own = await fetch(`${app}/own`, { method: 'POST', headers, body: '{"mine":1}' })
      t.same(await own.json(), { mine: 1 })
    })

    await t.test('each event of a stream arrives before the next one is sent', async t => {
      let next: () => void = () => undefined
      const isSeen = new Promise<void>(resolve => {
        next = resolve
      })
      up.answer(
        brokenStream([chatEvent('first')], async peer => {
          await isSeen
          for (const piece of [chunk(chatEvent('second')), chunk(DONE), LAST_CHUNK]) await peer.send(piece)
        }),
      )
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ ...CHAT, stream: true }) })
      t.match(answer.headers.get('content-type'), 'text/event-stream')
      let text = ''
      for await (const piece of answer.body ?? []) {
        text += Buffer.from(piece as Uint8Array).toString()
        if (text.includes('first')) next()
        if (text.includes('second')) break
      }
      t.match(text, 'second')
    })

    await t.test('a client that leaves ends the request at the upstream', async t => {
      up.answer(brokenStream([chatEvent('first')], hang))
      const before = up.aborts.items.length
      const abort = new AbortController()
      const body = JSON.stringify({ ...CHAT, stream: true })
      const answer = await fetch(url, { method: 'POST', headers, body, signal: abort.signal })
      const reader = answer.body?.getReader()
      t.match(Buffer.from((await reader?.read())?.value ?? []).toString(), 'first')
      abort.abort()
      await t.resolves(up.aborts.count(before + 1))
      await reader?.cancel().catch(() => undefined)
    })

    await t.test('the gateway’s limit of bodies holds, whether their length is said or not', async t => {
      const big = JSON.stringify({
        ...CHAT,
        messages: [{ role: 'user', content: 'x'.repeat(256 * MAX_BODY_KIB * 1024) }],
      })
      const said = await fetch(url, { method: 'POST', headers, body: big })
      t.equal(said.status, 413, await said.text())
      const chunked = { body: new Blob([big]).stream(), duplex: 'half' }
      const unsaid = await fetch(url, { method: 'POST', headers, ...chunked } as RequestInit)
      t.equal(unsaid.status, 413, await unsaid.text())
      up.answer(json(CHAT_ANSWER))
      const fits = await fetch(url, { method: 'POST', headers, body: JSON.stringify(CHAT) })
      t.equal(fits.status, 200, await fits.text())
    })

    await t.test('the body of a request is never a request, with any method', async t => {
      const hidden = `GET ${PREFIX}/v1/models HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n\r\n`
      for (const method of ['DELETE', 'OPTIONS', 'PUT']) {
        const sent = request(`${app}${PREFIX}/v1/files/x`, {
          method,
          headers: { ...headers, 'transfer-encoding': 'chunked' },
        })
        sent.end(hidden.replace(PREFIX, ''))
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        t.ok((answer.statusCode ?? 0) >= 400)
        answer.resume()
        await once(answer, 'end')
        up.answer(json(CHAT_ANSWER))
        const next = await fetch(url, { method: 'POST', headers, body: JSON.stringify(CHAT) })
        t.equal(next.status, 200, await next.text())
      }
      t.notMatch(JSON.stringify(gateway.log.items), '/v1/models')
    })

    await t.test('a request that offers another protocol than WebSocket is served as it is', async t => {
      up.answer(json(CHAT_ANSWER))
      const sent = request(url, {
        method: 'POST',
        headers: { ...headers, connection: 'upgrade, http2-settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' },
      })
      sent.end(JSON.stringify(CHAT))
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      answer.resume()
      t.equal(answer.statusCode, 200)
      t.match(up.requests.items.at(-1)?.json(), { messages: CHAT.messages })
    })

    await t.test('a client cannot say where it is', async t => {
      const spoofed = { authorization: `Bearer ${INNER_KEY}`, 'x-forwarded-for': '10.0.0.1' }
      // Not one of the addresses that are trusted.
      const localAddress = '127.0.0.2'
      const sent = request(url, { method: 'POST', headers: { ...headers, ...spoofed }, localAddress })
      sent.end(JSON.stringify(CHAT))
      const [refused] = (await once(sent, 'response')) as [IncomingMessage]
      refused.resume()
      t.equal(refused.statusCode, 403)
      const socket = new WebSocket(`${app.replace('http', 'ws')}${PREFIX}/v1/realtime?model=sim-realtime`, {
        ...{ headers: spoofed, localAddress },
      })
      socket.on('error', () => undefined)
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
      t.equal(response.statusCode, 403)
      socket.terminate()
    })

    await t.test('a realtime session passes its WebSocket, and refusals keep their status', async t => {
      const address = `${app.replace('http', 'ws')}${PREFIX}/v1/realtime?model=sim-realtime`
      const socket = new WebSocket(address, { headers: { authorization: headers.authorization } })
      t.teardown(() => socket.terminate())
      const [first] = (await once(socket, 'message')) as [Buffer]
      t.match(first.toString(), 'session.created')
      socket.close()
      await once(socket, 'close')
      const refused = new WebSocket(address).on('error', () => undefined)
      const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }]
      t.equal(response.statusCode, 401)
      refused.terminate()
      // One that neither reads on nor closes.
      const { port, pathname, search } = new URL(address)
      const idle = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      const handshake = ['connection: upgrade', 'upgrade: websocket', 'host: x']
      idle.write([`GET ${pathname}${search} HTTP/1.1`, ...handshake, '', 'more that no one reads'].join('\r\n'))
      idle.resume()
      await once(idle, 'end')
      await new Promise<void>(resolve => {
        idle.once('error', () => resolve()).once('close', () => resolve())
        const again = setInterval(() => idle.write('and more'), 20)
        idle.once('close', () => clearInterval(again))
      })
    })
  })
}
