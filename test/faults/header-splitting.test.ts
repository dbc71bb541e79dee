import t, { type Test } from 'tap'
import { bytes, CHAT_ANSWER } from '../helpers/answers.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { startStrictUpstream } from '../helpers/strict-upstream.js'

/** What ends a header's value for some reader. */
const BREAKS = ['\r\n', '\r', '\n', '\r\n ', '\n ', '\0', '\r\n\r\n', '\n\n', '\x0b', '\x85', '\u2028', '嘊嘍']
const INJECTED = 'injected: yes'
const BODY = JSON.stringify(CHAT_ANSWER)

/** All that a client receives until the connection ends. */
async function told(t: Test, gateway: TestGateway, request: Buffer): Promise<string> {
  const client = await connectRaw(t, gateway.origin)
  let text = ''
  client.socket.on('data', data => {
    text += data.toString('latin1')
  })
  await client.send(request)
  await client.closed()
  return text
}

/** Whether a text is one answer whose head has no line of an attacker. */
function assertWhole(t: Test, text: string, title: string): void {
  const [head = ''] = text.split('\r\n\r\n')
  t.equal(text.match(/HTTP\/1\.1 \d{3} /g)?.length, 1, `${title}: one answer`)
  t.notMatch(head, /^\s*injected:/m, `${title}: no line of the attacker`)
  t.match(head, /^HTTP\/1\.1 \d{3} [\x20-\x7e]*(?:\r\n[\w-]+: [\t\x20-\x7e\x80-\xff]*)+$/, `${title}: plain lines`)
}

const FROM_UPSTREAM = [
  'retry-after',
  'content-type',
  'etag',
  'cache-control',
  'content-disposition',
  'x-passed',
  'location',
]

for (const transport of ['fast', 'node'] as const) {
  t.test(
    `F-U20 headers of an upstream's answer that hold another one, on ${transport}: never a line of the client's`,
    async t => {
      const upstream = await startRawUpstream(t)
      const yaml = oneUpstream(
        upstream.origin,
        `transport: ${transport}\n`,
        'forward: { response: [x-passed, location] }',
      )
      const gateway = await startTestGateway(t, yaml)
      const request = requestBytes(gateway.origin, '/v1/chat/completions', {
        key: gateway.key,
        headers: { connection: 'close' },
        body: { model: 'm', messages: [{ role: 'user', content: 'x' }] },
      })
      for (const status of ['200 OK', '429 Too Many Requests', `200 OK\r${INJECTED}`, `200 OK\n${INJECTED}`]) {
        for (const name of FROM_UPSTREAM) {
          for (const line of BREAKS) {
            const value = Buffer.from(`1${line}${INJECTED}`).toString('latin1')
            const type = name === 'content-type' ? '' : 'content-type: application/json\r\n'
            const framing = `content-length: ${BODY.length}\r\nconnection: close\r\n`
            upstream.answer(
              bytes(Buffer.from(`HTTP/1.1 ${status}\r\n${type}${framing}${name}: ${value}\r\n\r\n${BODY}`, 'latin1')),
            )
            const text = await told(t, gateway, request)
            assertWhole(t, text, `${JSON.stringify(status)} ${name} ${encodeURIComponent(line)}`)
          }
        }
      }
    },
  )

  t.test(
    `F-C13 model names, members, paths and headers that hold another header, on ${transport}: never a line of the upstream's or the client's`,
    async t => {
      const upstream = await startStrictUpstream(t)
      const inPath = upstreamYaml(upstream.origin, 'forward: { request: [x-passed] }').replace(
        'POST /v1/chat/completions',
        '"POST /v1/{model}/chat/completions"',
      )
      const other = `{ base: "${upstream.origin}", speaks: { messages: POST /v1/messages } }`
      const models = 'models: { "path-*": up, translated: other }'
      const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${inPath}, other: ${other} }\n${models}\ntransport: ${transport}\n`
      const gateway = await startTestGateway(t, yaml)
      const { origin, key } = gateway
      const ask = async (title: string, path: string, body?: unknown, headers = {}): Promise<string> => {
        const options = { key, headers: { connection: 'close', ...headers }, ...(body !== undefined && { body }) }
        const text = await told(t, gateway, requestBytes(origin, path, options))
        assertWhole(t, text, title)
        return text
      }
      const messages = [{ role: 'user', content: 'x' }]
      for (const line of BREAKS) {
        const title = encodeURIComponent(line)
        const evil = `a${line}${INJECTED}`
        const coded = encodeURIComponent(evil)
        await ask(`model ${title}`, '/v1/chat/completions', { model: `path-${evil}`, messages })
        await ask(`member ${title}`, '/v1/chat/completions', {
          model: 'translated',
          messages,
          max_tokens: 9,
          [evil]: evil,
          user: evil,
        })
        await ask(`path ${title}`, `/v1/models/${coded}`)
        await ask(`path of a file ${title}`, `/v1/files/${coded}`)
        await ask(`query ${title}`, `/v1/chat/completions?a=${coded}&${coded}=b`, { model: 'path-x', messages })
        // Behind a blank line it is another message of the client's own.
        if (line === '\r\n\r\n') continue
        for (const name of [
          'idempotency-key',
          'x-passed',
          'accept',
          'content-type',
          'x-request-id',
          'traceparent',
          'origin',
          'user-agent',
        ])
          await ask(
            `${name} ${title}`,
            '/v1/chat/completions',
            { model: 'path-x', messages },
            { [name]: Buffer.from(evil).toString('latin1') },
          )
      }
      t.ok(upstream.reached.length > 0)
      t.ok(upstream.reached.every(({ fields }) => fields.every(field => !/^\s*injected:/i.test(field))))
      gateway.gateway.closeNow()
      await gateway.gateway.closed
      t.same(upstream.odd, [])
    },
  )
}
