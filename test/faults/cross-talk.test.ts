import t from 'tap'
import { chatEvent, chunk, DONE, json, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway } from '../helpers/gateway.js'
import { seeded } from '../helpers/random.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { type Peer, startRawUpstream } from '../helpers/raw-upstream.js'

/**
 * Whether an answer ever reaches another request than its own: every request carries a text of its own, which the upstream
 * repeats, many connections are used again and again, and every fifth client leaves in the middle of its answer.
 * `CROSS_TALK=1000000` sends as many.
 */

t.setTimeout(3_600_000)

const REQUESTS = Number(process.env.CROSS_TALK ?? 2000)
const CLIENTS = 24
const KINDS = ['whole', 'stream', 'translated', 'translated stream'] as const

/** Repeats what was asked, in two pieces, so that answers of many requests are under way at once. */
async function repeat(peer: Peer): Promise<void> {
  const { messages, stream } = peer.request.json() as { messages: { content: unknown }[]; stream?: boolean }
  const text = JSON.stringify(messages).match(/mark-\d+-/)?.[0] ?? 'no mark'
  if (stream !== true) {
    const message = { role: 'assistant', content: text }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    await json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }, { cuts: [150] })(peer)
    return
  }
  await startStream(peer)
  const half = text.length >> 1
  for (const piece of [text.slice(0, half), text.slice(half)]) await peer.send(chunk(chatEvent(piece)))
  await peer.send(Buffer.concat([chunk(DONE), Buffer.from(LAST_CHUNK)]))
}

t.test(`F-A12 no answer reaches another request, ${REQUESTS} requests of which a fifth is aborted`, async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(repeat)
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nlog: { level: error }\nmodels: { m: up }\nupstreams:\n  up: { base: "${upstream.origin}", speaks: { chat: POST /v1/chat/completions } }\n`,
  )
  const random = seeded(REQUESTS)
  const seen = { whole: 0, aborted: 0, foreign: [] as string[] }
  let next = 0

  const client = async (): Promise<void> => {
    let connection = await connectRaw(t, gateway.origin)
    while (next < REQUESTS) {
      const mark = `mark-${next++}-`
      const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'whole'
      await connection.send(requestOf(gateway.origin, gateway.key, kind, mark))
      if (random() < 0.2) {
        if (random() < 0.5) await connection.head()
        connection.socket.destroy()
        seen.aborted++
        connection = await connectRaw(t, gateway.origin)
        continue
      }
      const answer = await connection.answer()
      const text = textOf(kind, answer.text)
      if (answer.status === 200 && text === mark) seen.whole++
      else seen.foreign.push(`${kind}: ${mark} got ${answer.status} ${answer.text.slice(0, 300)}`)
    }
    connection.socket.destroy()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))

  t.same(seen.foreign, [])
  t.equal(seen.whole + seen.aborted, REQUESTS)
  t.ok(seen.aborted > REQUESTS / 10)
  console.log(`# MEASURED: ${REQUESTS} requests, ${seen.aborted} aborted, ${seen.foreign.length} answers of others`)
})

function requestOf(origin: string, key: string, kind: (typeof KINDS)[number], mark: string): Buffer {
  const stream = kind.endsWith('stream')
  const body = { ...CHAT, messages: [{ role: 'user', content: mark }], stream }
  if (!kind.startsWith('translated')) return requestBytes(origin, '/v1/chat/completions', { key, body })
  return requestBytes(origin, '/v1/messages', { key, body: { ...body, max_tokens: 9 } })
}

/** What the model said. */
function textOf(kind: (typeof KINDS)[number], answer: string): string {
  if (!kind.endsWith('stream')) {
    const said = JSON.parse(answer) as { choices?: [{ message: { content: string } }]; content?: [{ text: string }] }
    return said.choices?.[0].message.content ?? said.content?.[0].text ?? answer
  }
  const deltas = answer.matchAll(/"(?:content|text)":"([^"]*)"/g)
  return Array.from(deltas, ([, text = '']) => text).join('')
}
