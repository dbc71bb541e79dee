import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { allowFault } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { HOSTILE, png } from '../net/hostile-hosts.js'
import { type MediaHost, sample, startMediaHost } from '../net/media-host.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

/** Images that requests for embeddings name by URL, for upstreams that are given bytes. */

// Servers of models that embed images take more than the protocol's reference knows.
allowFault(/^input/)

const GOOD = '127.0.0.2'
const EVIL = '127.0.0.3'
const BASE64 = sample('image/png').toString('base64')

interface Way {
  readonly path: string
  /** Where the URL is, as the error names it. */
  readonly at: string
  readonly speaks: string
  readonly answer: unknown
  body(url: string): unknown
  picture(body: never): unknown
}

const WAYS: Readonly<Record<string, Way>> = {
  'embeddings → embed-contents': {
    path: '/v1/embeddings',
    at: 'input[1]',
    speaks: 'embed-contents: "POST /up/{model}"',
    answer: { embeddings: [{ values: [1] }, { values: [1] }] },
    body: url => ({ model: 'm', input: ['a', { image: url }] }),
    picture: (body: { requests: { content: { parts: { inlineData?: { data: string } }[] } }[] }) =>
      body.requests[1]?.content.parts[0]?.inlineData?.data,
  },
  'embed-content → embeddings': {
    path: '/v1beta/models/m:embedContent',
    at: 'content.parts[1]',
    speaks: 'embeddings: POST /up',
    answer: { data: [{ embedding: [1], index: 0 }] },
    body: url => ({ content: { parts: [{ text: 'a' }, { fileData: { fileUri: url, mimeType: 'image/png' } }] } }),
    picture: (body: { input: { content: { image_url?: { url: string } }[] }[] }) =>
      body.input[0]?.content[1]?.image_url?.url.replace('data:image/png;base64,', ''),
  },
}

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

async function stage(t: Test, { speaks, answer }: Way, fetch?: string): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(answer))
  const traits = '{ fetches_urls: false, image_inputs: parts }'
  const media = fetch === undefined ? '' : `media: { fetch: { ${fetch} } }\n`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { ${speaks} }, traits: ${traits} } }\nmodels: { m: up, bare: { upstream: up } }\n${media}`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

function allowed(host: Pick<MediaHost, 'port'>, more = ''): string {
  return `allow: [${GOOD}/32], http: true, ports: [${host.port}]${more}`
}

const ask = ({ gateway }: Stage, { path, body }: Way, url: string): Promise<Answer> =>
  gateway.request(path, { body: body(url) })

function refused(t: Test, { upstream }: Stage, { at }: Way, answer: Answer, why: RegExp): void {
  t.equal(answer.status, 400, answer.text)
  const { message } = (answer.json() as { error: { message: string } }).error
  t.match(message, why)
  t.ok(message.includes(`'${at}'`), message)
  t.notMatch(message, /127\.0|loopback|ECONN|:\d\d/, 'the message says nothing of the network')
  t.equal(upstream.requests.items.length, 0)
}

for (const [name, way] of Object.entries(WAYS)) {
  t.test(`F-X1 ${name}: fetching is off unless it is allowed, and the error says so`, async t => {
    const host = await startMediaHost(t, GOOD, png)
    const made = await stage(t, way)
    refused(t, made, way, await ask(made, way, `${host.origin}/a.png`), /fetching them is not allowed here/)
    t.equal(host.connections(), 0)
  })

  t.test(`F-X1 ${name}: what is allowed is fetched, and the model gets its bytes`, async t => {
    const host = await startMediaHost(t, GOOD, png)
    const made = await stage(t, way, allowed(host))
    const answer = await ask(made, way, `${host.origin}/a.png`)
    t.equal(answer.status, 200, answer.text)
    t.equal(way.picture(made.upstream.requests.items[0]?.json() as never), BASE64)
    t.notOk(made.upstream.requests.items[0]?.body.includes(GOOD), 'the URL itself is not sent')
  })

  t.test(`F-X1 ${name}: a redirect to a forbidden address makes no connection there`, async t => {
    const good = await startMediaHost(t, GOOD, (_request, response) => {
      response.writeHead(302, { location: `http://${EVIL}:${good.port}/secret` }).end()
    })
    const evil = await startMediaHost(t, EVIL, png, good.port)
    const made = await stage(t, way, allowed(good))
    refused(t, made, way, await ask(made, way, `${good.origin}/a.png`), /may not be fetched/)
    t.equal(evil.connections(), 0)
    t.match(await made.gateway.log.find(line => line.msg === 'request'), {
      blocked: 'loopback address',
      phase: 'media',
    })
  })

  for (const [host, [listener, why, more]] of Object.entries(HOSTILE)) {
    t.test(`F-X2 ${name}: ${host} is refused`, async t => {
      const server = await startMediaHost(t, GOOD, listener)
      const made = await stage(t, way, allowed(server, `, max: 64KiB${more}`))
      refused(t, made, way, await ask(made, way, `${server.origin}/a.png`), why)
    })
  }
}

t.test('F-X1 no spelling of an inner address is connected to', async t => {
  const everywhere = await startMediaHost(t, undefined, png)
  const way = WAYS['embeddings → embed-contents'] as Way
  const made = await stage(t, way, `allow: ["*"], http: true, ports: [${everywhere.port}, 443]`)
  // What is in a data: URL is there already.
  const urls = SSRF_URLS.map(spell => spell(everywhere.port)).filter(url => !/^\s*data:/i.test(url))
  t.ok(urls.length >= 150, `${urls.length} spellings`)
  for (const url of urls) t.equal((await ask(made, way, url)).status, 400, url)
  t.equal(everywhere.connections(), 0)
  t.equal(made.upstream.requests.items.length, 0)
})

t.test('F-X2 more than one request may have together is refused', async t => {
  const way = WAYS['embeddings → embed-contents'] as Way
  const host = await startMediaHost(t, GOOD, png)
  const made = await stage(t, way, allowed(host, ', count: 2'))
  const input = ['a', 'b', 'c'].map(name => ({ image: `${host.origin}/${name}.png` }))
  const answer = await made.gateway.request(way.path, { body: { model: 'm', input } })
  t.equal(answer.status, 400)
  t.match(answer.json(), { error: { message: /more than 2 URLs/ } })
})
