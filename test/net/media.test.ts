import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { packageRoot } from '../../src/core/package-root.js'
import { MediaFetcher } from '../../src/net/media.js'
import { type MediaHost, SAMPLE_TYPES, sample, startMediaHost } from './media-host.js'
import { SSRF_URLS } from './ssrf-urls.js'

type MediaOptions = ConstructorParameters<typeof MediaFetcher>[0]

const PNG = sample('image/png')
const GOOD = '127.0.0.2'
const EVIL = '127.0.0.3'

const png: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
}

function fetcher(host: MediaHost, options: Partial<MediaOptions> = {}): MediaFetcher {
  return new MediaFetcher({
    allow: [GOOD],
    http: true,
    ports: [host.port],
    maxBytes: 1 << 20,
    maxTotal: 2 << 20,
    maxCount: 8,
    timeoutMs: 10_000,
    maxRedirects: 3,
    ...options,
  })
}

/** Asserts a refusal that says this and does not say where. */
async function refuses(t: Test, promise: Promise<unknown>, message: RegExp, cause?: RegExp): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GatewayError)) throw new Error(`no refusal: ${error}`)
  t.match(error, { code: 'invalid_parameter', status: 400, message })
  t.notMatch(error.message, /127\.0|:\d\d/, 'the message names no address')
  if (cause !== undefined) t.match(String(error.details.cause), cause)
}

t.test('a document of an allowed host', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const media = await fetcher(host).fetch(`${host.origin}/a.png?size=1#part`)
  t.same(media, { mime: 'image/png', bytes: PNG })
  t.equal(host.requests[0]?.url, '/a.png?size=1')
  t.strictSame(Object.keys(host.requests[0]?.headers ?? {}).sort(), [
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ])
})

t.test('no spelling of an inner address connects', async t => {
  // Listens on every address of this machine, of both families.
  const everywhere = await startMediaHost(t, undefined, png)
  const media = fetcher(everywhere, { allow: ['*'], ports: [everywhere.port, 443] })
  for (const spell of SSRF_URLS) {
    const url = spell(everywhere.port)
    await refuses(t, media.fetch(url), /may not be fetched/)
  }
  t.equal(everywhere.connections(), 0)
})

t.test('names of every kind that resolve to inner addresses do not connect', async t => {
  const everywhere = await startMediaHost(t, undefined, png)
  for (const address of [
    '127.0.0.1',
    '0.0.0.0',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])
    for (const list of [[address], ['1.1.1.1', address]]) {
      const addresses = list.map(one => ({ address: one, family: one.includes(':') ? 6 : 4 }))
      const media = fetcher(everywhere, { allow: ['*'], resolve: async () => addresses })
      await refuses(t, media.fetch(`http://media.example.com:${everywhere.port}/`), /may not be fetched/, /address/)
    }
  t.equal(everywhere.connections(), 0)
})

t.test('a name that does not resolve is refused in the same words', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const resolve = async (): Promise<never> => Promise.reject(new Error('ENOTFOUND'))
  const media = fetcher(host, { allow: ['*'], resolve })
  await refuses(t, media.fetch(`http://media.example.com:${host.port}/`), /may not be fetched/, /no address/)
})

t.test('a redirect is checked like a first URL', async t => {
  const evil = await startMediaHost(t, EVIL, png)
  const targets = [
    `http://${EVIL}:${evil.port}/`,
    `//${EVIL}:${evil.port}/`,
    `http://0x7f000003:${evil.port}/`,
    `http://${GOOD}@${EVIL}:${evil.port}/`,
    `http://localhost:${evil.port}/`,
    'file:///etc/passwd',
    'http://127.0.0.2:1/',
    'http://[',
  ]
  let target = ''
  const redirect: RequestListener = (_request, response) => {
    response.writeHead(302, { location: target }).end()
  }
  const good = await startMediaHost(t, GOOD, redirect, evil.port)
  for (target of targets) await refuses(t, fetcher(good).fetch(`${good.origin}/`), /may not be fetched/)
  t.equal(good.requests.length, targets.length)
  t.equal(evil.connections(), 0)
})

t.test('allowed redirects are followed, up to a limit', async t => {
  const host = await startMediaHost(t, GOOD, (request, response) => {
    const step = Number(request.url?.slice(1))
    if (step === 0) response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
    else response.writeHead([301, 302, 303, 307, 308][step % 5]!, { location: `./${step - 1}` }).end('elsewhere')
  })
  t.match(await fetcher(host).fetch(`${host.origin}/3`), { mime: 'image/png' })
  await refuses(t, fetcher(host).fetch(`${host.origin}/4`), /redirects too often/)
})

t.test('rebinding: the connection goes to the address that was checked', async t => {
  const evil = await startMediaHost(t, EVIL, png)
  const good = await startMediaHost(t, GOOD, png, evil.port)
  let asked = 0
  const resolve: NonNullable<MediaOptions['resolve']> = async () => {
    asked += 1
    return [{ address: asked === 1 ? GOOD : EVIL, family: 4 }]
  }
  const media = fetcher(good, { resolve })
  const url = `http://media.example.com:${good.port}/a`
  t.match(await media.fetch(url), { mime: 'image/png' })
  t.equal(asked, 1, 'asked once: what is connected to is what was checked')
  t.equal(good.requests[0]?.headers.host, `media.example.com:${good.port}`)
  await refuses(t, media.fetch(url), /may not be fetched/, /loopback/)
  t.equal(good.connections(), 1)
  t.equal(evil.connections(), 0)
})

t.test('rebinding between hops', async t => {
  const evil = await startMediaHost(t, EVIL, png)
  const again: RequestListener = (_request, response) => {
    response.writeHead(302, { location: '/again' }).end()
  }
  const good = await startMediaHost(t, GOOD, again, evil.port)
  const addresses = [GOOD, EVIL]
  const media = fetcher(good, { resolve: async () => [{ address: addresses.shift() ?? EVIL, family: 4 }] })
  await refuses(t, media.fetch(`http://media.example.com:${good.port}/`), /may not be fetched/)
  t.equal(good.connections(), 1)
  t.equal(evil.connections(), 0)
})

t.test('a certificate that does not fit', async t => {
  const folder = join(packageRoot(), 'test/fixtures/tls')
  const read = (name: string): Buffer => readFileSync(join(folder, name))
  const server = createServer({ key: read('first.key'), cert: read('first.pem') }, png)
  await new Promise<void>(resolve => server.listen(0, GOOD, resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const media = fetcher({ port } as MediaHost)
  await refuses(t, media.fetch(`https://${GOOD}:${port}/`), /could not be fetched/)
})

t.test('types are recognized by the bytes', async t => {
  let type: string | undefined
  let bytes = PNG
  const host = await startMediaHost(t, GOOD, (_request, response) => {
    response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(bytes)
  })
  const get = (options: Partial<MediaOptions> = {}) => fetcher(host, options).fetch(`${host.origin}/`)
  for (const sampled of SAMPLE_TYPES) {
    bytes = sample(sampled)
    for (type of [sampled, `${sampled}; charset=binary`, sampled.toUpperCase(), undefined, 'application/octet-stream'])
      t.equal((await get()).mime, sampled, `${sampled} sent as ${type}`)
  }
  ;[type, bytes] = ['image/png', sample('image/jpeg')]
  t.equal((await get()).mime, 'image/jpeg', 'the bytes know better than the server')
  ;[type, bytes] = ['text/html', PNG]
  await refuses(t, get(), /it is not one of image\/jpeg/)
  ;[type, bytes] = ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')]
  await refuses(t, get(), /it is not one of/)
  ;[type, bytes] = ['image/png', Buffer.from('<html>secret of an inner host</html>')]
  await refuses(t, get(), /it is not one of/)
  ;[type, bytes] = ['image/png', Buffer.alloc(0)]
  await refuses(t, get(), /it is not one of/)
  ;[type, bytes] = [undefined, sample('application/pdf')]
  await refuses(t, get({ types: ['image/png'] }), /it is not one of image\/png\./)
})

t.test('the first bytes in many pieces', async t => {
  const host = await startMediaHost(t, GOOD, async (_request, response) => {
    response.writeHead(200)
    for (const byte of sample('image/webp', 20))
      await new Promise(resolve => response.write(Buffer.from([byte]), resolve))
    response.end()
  })
  t.same(await fetcher(host).fetch(`${host.origin}/`), { mime: 'image/webp', bytes: sample('image/webp', 20) })
})

t.test('a document that is too large is abandoned as soon as that is known', async t => {
  let declared: number | undefined
  const closed: Promise<void>[] = []
  const host = await startMediaHost(t, GOOD, (_request, response) => {
    closed.push(new Promise(resolve => response.on('close', resolve)))
    response.writeHead(200, {
      'content-type': 'image/png',
      ...(declared !== undefined && { 'content-length': declared }),
    })
    response.write(PNG)
    const more = (error?: Error | null): void => {
      if (!error && !response.destroyed) response.write(Buffer.alloc(16_384), more)
    }
    if (declared === undefined) more()
  })
  const media = fetcher(host, { maxBytes: 100_000 })
  await refuses(t, media.fetch(`${host.origin}/`), /it is too large/)
  declared = 100_001
  await refuses(t, media.fetch(`${host.origin}/`), /it is too large/)
  await Promise.all(closed)
  t.equal(closed.length, 2, 'both connections were broken off')
})

t.test('no compressed body: it may unpack to anything', async t => {
  const bomb = gzipSync(Buffer.alloc(10 << 20))
  const host = await startMediaHost(t, GOOD, (request, response) => {
    t.equal(request.headers['accept-encoding'], 'identity')
    response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' }).end(bomb)
  })
  await refuses(t, fetcher(host).fetch(`${host.origin}/`), /sent it compressed/)
})

t.test('a slow server', async t => {
  const silent = await startMediaHost(t, GOOD, () => undefined)
  await refuses(t, fetcher(silent, { timeoutMs: 50 }).fetch(`${silent.origin}/`), /took too long/)
  const drip = await startMediaHost(t, GOOD, (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).write(PNG)
  })
  await refuses(t, fetcher(drip, { timeoutMs: 50 }).fetch(`${drip.origin}/`), /took too long/)
  const resolve = (): Promise<never> => new Promise(() => undefined)
  const media = fetcher(silent, { timeoutMs: 50, allow: ['*'], resolve })
  await refuses(t, media.fetch(`http://media.example.com:${silent.port}/`), /took too long/)
})

t.test('servers that fail', async t => {
  let fail: RequestListener = png
  const host = await startMediaHost(t, GOOD, (request, response) => fail(request, response))
  const get = (): Promise<unknown> => fetcher(host).fetch(`${host.origin}/`)
  for (const status of [201, 204, 206, 304, 400, 401, 404, 500]) {
    fail = (_request, response) => {
      response
        .writeHead(status, { 'content-type': 'image/png' })
        .end(status === 204 || status === 304 ? undefined : PNG)
    }
    await refuses(t, get(), /did not return a document/)
  }
  fail = request => request.socket.destroy()
  await refuses(t, get(), /could not be fetched/)
  fail = (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'image/png', 'content-length': 1000 })
      .write(PNG, () => response.destroy())
  }
  await refuses(t, get(), /could not be fetched/)
})

t.test('many documents: each once, in order, within one budget', async t => {
  const host = await startMediaHost(t, GOOD, (request, response) => {
    response.writeHead(200).end(request.url === '/gif' ? sample('image/gif') : sample('image/png', 1000))
  })
  const wish = (path: string): { url: string; at: string } => ({ url: host.origin + path, at: `messages${path}` })
  const media = fetcher(host, { maxTotal: 3000, maxCount: 3 })
  const found = await media.fetchAll([wish('/a'), wish('/gif'), wish('/a'), wish('/b')])
  t.same(
    found.map(({ mime }) => mime),
    ['image/png', 'image/gif', 'image/png', 'image/png'],
  )
  t.equal(host.requests.length, 3)
  await refuses(t, media.fetchAll([wish('/1'), wish('/2'), wish('/3'), wish('/4')]), /more than 3 URLs/)
  await refuses(t, fetcher(host, { maxTotal: 1500 }).fetchAll([wish('/1'), wish('/2')]), /it is too large/)
  t.same(await media.fetchAll([]), [])
})

t.test('an error names the place of its URL', async t => {
  const host = await startMediaHost(t, GOOD, png)
  const at = 'messages[0].content[1].image_url.url'
  const error = await fetcher(host)
    .fetchAll([{ url: 'http://10.0.0.1/', at }])
    .catch((reason: unknown) => reason)
  t.match(error, { details: { param: at, phase: 'media' }, message: `The URL at '${at}' cannot be used` })
})

t.test('a client that disconnects ends the fetch', async t => {
  const stop = new AbortController()
  const host = await startMediaHost(t, GOOD, () => stop.abort())
  const error = await fetcher(host)
    .fetch(`${host.origin}/`, stop.signal)
    .catch((reason: unknown) => reason)
  t.match(error, { code: 'client_gone' })
})
