import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, get, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { storeContract } from '../../src/contracts/index.js'
import { packageRoot } from '../../src/core/package-root.js'
import { ConfigError, type TestGateway, testGateway, toFetch, toNode, toUpgrade } from '../../src/index.js'
import { MemoryStore } from '../../src/stores/memory.js'

/** The package as a library: its examples, gateways for tests of apps, and gateways inside of other servers. */

const PAGE = readFileSync(join(packageRoot(), 'docs', 'library.md'), 'utf8')
const EXAMPLES = [...PAGE.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

const post = (gateway: TestGateway, body: object): RequestInit => ({
  method: 'POST',
  headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const asks = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'Hi' }],
  ...more,
})

async function started(t: Test, options: Parameters<typeof testGateway>[0]): Promise<TestGateway> {
  const gateway = await testGateway(options)
  t.teardown(() => gateway.close())
  return gateway
}

async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const [at, text] of EXAMPLES.entries()) {
  const own = /from '\.\/my-/.test(text)
  t.test(
    `example ${at + 1} of docs/library.md runs unchanged`,
    { skip: own && 'it needs a module of yours' },
    async t => {
      const folder = join(t.testdir({}), 'app')
      await mkdir(folder)
      copyFileSync(join(packageRoot(), 'gateway.yaml'), join(folder, 'gateway.yaml'))
      const file = join(folder, 'example.mjs')
      // An app that listens does not end by itself.
      const ending = text.includes('server.listen') ? '\nserver.close()\nawait gateway.close()\n' : ''
      await writeFile(file, text.replace('listen(3000)', 'listen(0)') + ending)
      const env = { PATH: process.env.PATH, OPENAI_API_KEY: 'unused', GATEWAY_KEY: 'key-of-the-example-0123456789' }
      await t.resolves(promisify(execFile)(process.execPath, [file], { cwd: folder, env }))
    },
  )
}

t.test('a scripted model streams the same text that it says whole, with usage', async t => {
  const gateway = await started(t, { models: { swift: 'A text of several pieces, with ö.' } })
  const url = `${gateway.origin}/v1/chat/completions`
  const whole = (await (await fetch(url, post(gateway, asks('swift')))).json()) as {
    choices: { message: { content: string } }[]
    usage: { prompt_tokens: number }
  }
  t.equal(whole.choices[0]?.message.content, 'A text of several pieces, with ö.')
  t.ok(whole.usage.prompt_tokens > 0)
  const stream = await (await fetch(url, post(gateway, asks('swift', { stream: true })))).text()
  const pieces = [...stream.matchAll(/"content":"([^"]+)"/g)].map(([, piece]) => piece)
  t.ok(pieces.length > 3)
  t.equal(pieces.join(''), 'A text of several pieces, with ö.')
})

t.test('clients of other protocols get the scripted texts and calls of tools', async t => {
  const gateway = await started(t, { models: { swift: [{ tool: 'look', arguments: { at: 1 } }, 'done'] } })
  const ask = async (): Promise<string> => {
    const headers = { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' }
    const body = JSON.stringify(asks('swift', { max_tokens: 9 }))
    return (await fetch(`${gateway.origin}/v1/messages`, { method: 'POST', headers, body })).text()
  }
  t.match(await ask(), '"name":"look"')
  t.match(await ask(), '"text":"done"')
  t.equal(gateway.calls.length, 2)
})

t.test(
  'a model that is not scripted does not exist, and a file that is not valid is refused with its problems',
  async t => {
    const gateway = await started(t, { models: { swift: 'hi' } })
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, post(gateway, asks('other')))
    t.equal(answer.status, 404)
    const file = join(t.testdir({ 'bad.yaml': 'version: 1\nmodels: { a: nowhere }\n' }), 'bad.yaml')
    const error = await testGateway({ file }).catch((thrown: unknown) => thrown)
    t.ok(error instanceof ConfigError && error.problems[0]?.message.includes('nowhere'), String(error))
  },
)

t.test('a file may include one of another folder, which names a schema beside it', async t => {
  const folder = t.testdir({
    'gateway.yaml':
      'version: 1\ninclude: [parts/*.yaml]\nkeys: { app: { secret: { env: KEY } } }\nupstreams: { sim: { kind: simulator } }\n',
    parts: {
      'own.yaml':
        'models: { swift: sim }\nschemas: { short: ./short.json }\nroutes: { POST /own: { protocol: chat, model: body.model, schema: short } }\n',
      'short.json': '{ "type": "object", "maxProperties": 1 }',
    },
  })
  const gateway = await started(t, { file: join(folder, 'gateway.yaml') })
  t.equal((await fetch(`${gateway.origin}/own`, post(gateway, asks('swift')))).status, 400)
})

const WAYS: Readonly<Record<string, (gateway: TestGateway) => RequestListener>> = {
  toNode: gateway => toNode(gateway, { prefix: '/ai' }),
  toFetch: gateway => {
    const handle = toFetch(gateway, { prefix: '/ai' })
    return (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const { method = '', url, headers } = request
        const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }
        const init = { method, headers: headers as Record<string, string>, ...body }
        const answer = await handle(new Request(`http://app.example${url}`, init))
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        for await (const chunk of answer.body ?? []) response.write(chunk)
        response.end()
      })
    }
  },
}

for (const [name, way] of Object.entries(WAYS)) {
  t.test(`${name} mounts the gateway below a path: whole answers, streams, errors and lists`, async t => {
    const gateway = await started(t, { models: { swift: 'Hello there.', busy: { status: 429, body: {} } } })
    const app = await listening(t, createServer(way(gateway)))
    const chat = `${app}/ai/v1/chat/completions`
    t.match(await (await fetch(chat, post(gateway, asks('swift')))).text(), 'Hello there.')
    const stream = await fetch(chat, post(gateway, asks('swift', { stream: true })))
    t.equal(stream.headers.get('content-type'), 'text/event-stream')
    t.match(await stream.text(), 'data: [DONE]')
    t.equal((await fetch(chat, post(gateway, asks('busy')))).status, 429)
    t.equal((await fetch(`${app}/ai/v1/models`)).status, 401)
  })
}

t.test('a client that leaves a mounted gateway ends its request there', async t => {
  let left: () => void = () => undefined
  const ended = new Promise<void>(resolve => {
    left = resolve
  })
  const silent = createServer(request => request.socket.once('close', left))
  const origin = await listening(t, silent)
  const app = await listening(t, createServer(toNode({ origin })))
  const request = get(app).on('error', () => undefined)
  await once(silent, 'request')
  request.destroy()
  await t.resolves(ended)
})

t.test('a mounted gateway that is gone is a 502', async t => {
  const app = await listening(t, createServer(toNode({ origin: 'http://127.0.0.1:1' })))
  t.equal((await fetch(app)).status, 502)
})

t.test('toUpgrade passes WebSockets on', async t => {
  const sockets = createServer().on('upgrade', (request, socket) => {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n${request.url}:`)
    socket.pipe(socket)
  })
  const origin = await listening(t, sockets)
  const server = createServer().on('upgrade', toUpgrade({ origin }, { prefix: '/ai' }))
  const app = new URL(await listening(t, server))
  const client = connect(Number(app.port), app.hostname)
  t.teardown(() => client.destroy())
  client.write('GET /ai/v1/realtime?model=m HTTP/1.1\r\nhost: app\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
  let text = ''
  client.setEncoding('utf8')
  const echoed = new Promise<void>(resolve => {
    client.on('data', (chunk: string) => {
      text += chunk
      if (text.endsWith('/v1/realtime?model=m:')) client.write('ping')
      if (text.endsWith('ping')) resolve()
    })
  })
  await echoed
  t.match(text, '101 Switching Protocols')
})

t.test('WebSockets outside of the prefix are left to a listener of the app, where there is one', async t => {
  const nothing = createServer().on('upgrade', (request, socket) => socket.end(`HTTP/1.1 418 ${request.url}\r\n\r\n`))
  const origin = await listening(t, nothing)
  const answerOf = async (server: Server, path: string, upgrade = 'websocket'): Promise<string> => {
    const app = new URL(await listening(t, server))
    const client = connect(Number(app.port), app.hostname).setEncoding('utf8')
    client.write(`GET ${path} HTTP/1.1\r\nhost: app\r\nupgrade: ${upgrade}\r\nconnection: upgrade\r\n\r\n`)
    let text = ''
    for await (const piece of client) text += piece
    return text
  }
  const mounted = (): Server => createServer().on('upgrade', toUpgrade({ origin }, { prefix: '/ai' }))
  const own = (): Server => {
    const server = mounted()
    server.on('upgrade', ({ url }, socket) => url?.startsWith('/own') && socket.end('HTTP/1.1 403 own\r\n\r\n'))
    return server
  }
  t.match(await answerOf(own(), '/ai/a'), /^HTTP\/1.1 418 \/a/)
  t.equal(await answerOf(own(), '/own'), 'HTTP/1.1 403 own\r\n\r\n', 'the gateway says nothing to it')
  t.match(await answerOf(mounted(), '/own'), /^HTTP\/1.1 418 \/own/, 'no socket is left without an answer')
  const served = own().on('request', (_, response) => response.setHeader('connection', 'close').end('a page'))
  t.match(await answerOf(served, '/page', 'h2c'), /a page/, 'HTTP/2 is declined, and the page served')
})

t.test('a gateway with TLS is not mounted: that is said before a request would find it out', async t => {
  const gateway = { origin: 'https://127.0.0.1:8443' }
  for (const mount of [toNode, toFetch, toUpgrade]) t.throws(() => mount(gateway), { message: /listen\.tls/ })
})

/** A driver that loses what it was given. */
class Forgetful extends MemoryStore {
  override async get(): Promise<undefined> {
    return undefined
  }
}

async function contractOn(make: (now: () => number) => MemoryStore): Promise<{ passed: number; failed: string[] }> {
  const runs: [string, () => Promise<void>][] = []
  storeContract(
    (title, run) => runs.push([title, run]),
    () => {
      let store: MemoryStore | undefined
      return now => {
        store ??= make(now)
        return store
      }
    },
  )
  const failed: string[] = []
  for (const [title, run] of runs) await run().catch((error: Error) => failed.push(`${title}: ${error.message}`))
  return { passed: runs.length - failed.length, failed }
}

t.test('the exported contract of stores passes with a shipped driver, and fails with one that forgets', async t => {
  const good = await contractOn(now => new MemoryStore(undefined, now))
  t.same(good.failed, [])
  t.ok(good.passed > 50, `${good.passed} cases`)
  const bad = await contractOn(now => new Forgetful(undefined, now))
  t.not(bad.failed.length, 0)
})
