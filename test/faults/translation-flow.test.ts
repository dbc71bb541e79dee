import t from 'tap'
import { chunk, hang, json, startStream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CLIENTS, clientOf, EACH_CLIENT, type Protocol } from '../helpers/text-clients.js'
import { askLarge } from '../helpers/text-large.js'
import { answers, begins, EACH_UPSTREAM, TEXT, UPSTREAMS, upstreamOf } from '../helpers/text-upstreams.js'
import { PATIENT, startStage, translated } from '../helpers/translation-stage.js'

// Clients that go, clients that are slow, and bodies that are large, where requests and answers are translated.

t.setTimeout(300_000)

type Members = Readonly<Record<string, unknown>>

const PAIRS = CLIENTS.flatMap(client =>
  UPSTREAMS.filter(({ protocol }) => protocol !== client.protocol).map(upstream => [client, upstream] as const),
)

t.test('clients that go', async t => {
  const stage = await startStage(t)

  await t.test('F-C1 before the head', async t => {
    for (const [client, protocol] of translated(CLIENTS)) {
      for (const stream of [false, true]) {
        const model = stage.play(protocol, hang)
        const raw = await stage.open(client, model, stream)
        const { connection } = await stage.upstream.requests.find(one => stage.asked(model).includes(one))
        raw.socket.destroy()
        await stage.upstream.aborts.find(one => one === connection)
        const line = await stage.gateway.log.find(one => one.msg === 'request' && one.model === model)
        t.match(line, { status: 499, outcome: 'client_abort' }, `${client.name} ← ${protocol}`)
      }
    }
  })

  await t.test(
    'F-C1 in the middle of a stream: the upstream is cut off, and what was delivered is accounted once',
    async t => {
      for (const [client, upstream] of PAIRS) {
        const words = upstream.pieces.findIndex(piece => piece.includes('two ')) + 1
        const model = stage.play(upstream.protocol, async peer => {
          await begins(upstream, upstream.pieces.slice(0, words))(peer)
          await peer.gone()
        })
        const raw = await stage.open(client, model, true)
        await raw.body(await raw.head(), body => body.includes('two '))
        const { connection } = await stage.upstream.requests.find(one => stage.asked(model).includes(one))
        raw.socket.destroy()
        await stage.upstream.aborts.find(one => one === connection)
        const line = await stage.gateway.log.find(one => one.msg === 'request' && one.model === model)
        t.match(line, { outcome: 'client_abort' }, `${client.name} ← ${upstream.name}`)
        t.ok((line.events as number) >= 2)
      }
      const lines = stage.gateway.log.items.filter(({ msg }) => msg === 'request')
      t.equal(new Set(lines.map(({ id }) => id)).size, lines.length, 'one line a request')
    },
  )
})

t.test('slow clients', async t => {
  const stage = await startStage(t)
  const big = 'x'.repeat(8000)
  for (const [client, upstream] of PAIRS) {
    await t.test(`F-C3 ${client.name} that does not read holds ${upstream.name} back`, async t => {
      const at = upstream.pieces.findIndex(piece => piece.includes('two '))
      const framed = chunk(upstream.bytes((upstream.pieces[at] ?? '').replace('two ', big)))
      let written = 0
      const model = stage.play(upstream.protocol, async peer => {
        await begins(upstream, upstream.pieces.slice(0, at))(peer)
        while (!peer.socket.destroyed && written < 64 * 1024 * 1024 && peer.socket.writableLength < 1024 * 1024) {
          peer.socket.write(framed)
          written += framed.length
          await new Promise(resolve => setImmediate(resolve))
        }
        await peer.gone()
      })
      const raw = await stage.open(client, model, true)
      await raw.head()
      raw.socket.pause()
      const { connection } = await stage.upstream.requests.find(one => stage.asked(model).includes(one))
      const socket = stage.upstream.connections.items[connection]!
      while (socket.writableLength < 1024 * 1024 && written < 64 * 1024 * 1024)
        await new Promise(resolve => setImmediate(resolve))
      t.ok(written < 32 * 1024 * 1024, `the upstream was stopped after ${written} bytes`)
      raw.socket.resetAndDestroy()
      await stage.upstream.aborts.find(one => one === connection)
    })
  }
})

t.test('a client that reads slowly gets all of it in the end', async t => {
  const stage = await startStage(t)
  const big = 'x'.repeat(8000)
  for (const [client, upstream] of PAIRS.filter(([, { name }]) => !name.endsWith('array'))) {
    const at = upstream.pieces.findIndex(piece => piece.includes('two '))
    const model = stage.play(upstream.protocol, async peer => {
      await startStream(peer, { headers: { 'content-type': upstream.contentType } })
      for (const [index, piece] of upstream.pieces.entries()) {
        const many = index === at ? 400 : 1
        for (let i = 0; i < many; i++)
          await peer.send(chunk(upstream.bytes(index === at ? piece.replace('two ', big) : piece)))
      }
      await peer.send('0\r\n\r\n')
    })
    const raw = await stage.open(client, model, true)
    const head = await raw.head()
    raw.socket.pause()
    await stage.upstream.requests.find(one => stage.asked(model).includes(one))
    for (let i = 0; i < 50; i++) await new Promise(resolve => setImmediate(resolve))
    raw.socket.resume()
    const { body, whole } = await raw.body(head)
    t.equal(whole, true)
    const ending = client.ending({ body })
    t.match(ending, { good: 1, errors: [], trailing: false }, `${client.name} ← ${upstream.name}`)
    t.equal(ending.text.length, TEXT.length - 'two '.length + 400 * big.length)
    raw.socket.destroy()
  }
})

const LARGE = 20 * 1024 * 1024

/** Each pair takes seconds: the fifth protocol is tried beside itself and one other. */
function isTried(client: Protocol, upstream: Protocol): boolean {
  const [one, other] = [client === 'converse', upstream === 'converse']
  return one === other || (one ? upstream : client) === 'chat'
}

t.test('F-C10 20 MiB of an image arrive whole, in the words of the upstream', async t => {
  const stage = await startStage(t, { more: PATIENT })
  const base64 = 'iVBORw0K'.repeat(LARGE / 8)
  const url = `data:image/png;base64,${base64}`
  const image: Readonly<Record<Protocol, Members>> = {
    chat: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }] },
    messages: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }],
        },
      ],
    },
    generate: { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] }] },
    converse: {
      messages: [{ role: 'user', content: [{ image: { format: 'png', source: { bytes: base64 } } }] }],
    },
  }
  for (const client of EACH_CLIENT) {
    for (const upstream of EACH_UPSTREAM.filter(({ protocol }) => isTried(client.protocol, protocol))) {
      await t.test(`${client.name} → ${upstream.name}`, async t => {
        const model = stage.play(upstream.protocol, answers(upstream))
        // How long the event loop stops is a figure of the bench; here others have to be served meanwhile.
        const others = stage.play('chat', json(upstreamOf('chat').answer))
        const [answer, other] = await Promise.all([
          stage.ask(client, model, false, image[client.protocol]),
          stage.ask(clientOf('chat'), others, false),
        ])
        t.equal(answer.status, 200, answer.text.slice(0, 300))
        t.equal(client.text(answer), TEXT)
        t.equal(other.status, 200)
        const body = stage.asked(model)[0]?.body.toString() ?? ''
        t.ok(body.includes(base64), 'every byte of it')
        t.doesNotThrow(() => JSON.parse(body))
      })
    }
  }
})

t.test('F-C10 20 MiB of an answer arrive whole, streamed or not', async t => {
  const stage = await startStage(t, { more: `limits: { line: 32MiB, event: 32MiB }\n${PATIENT}` })
  const words = 'x'.repeat(LARGE)
  for (const [client, upstream] of [
    [clientOf('chat'), upstreamOf('messages')],
    [clientOf('messages'), upstreamOf('generate')],
    [clientOf('generate'), upstreamOf('responses')],
    [clientOf('responses'), upstreamOf('converse')],
    [clientOf('converse'), upstreamOf('chat')],
  ] as const) {
    await t.test(`${client.name} ← ${upstream.name}`, async t => {
      const { origin, key } = stage.gateway
      const body = JSON.parse(JSON.stringify(upstream.answer).replaceAll(TEXT, words)) as Members
      const model = stage.play(upstream.protocol, json(body))
      const others = stage.play('chat', json(upstreamOf('chat').answer))
      const [answer, other] = await Promise.all([
        askLarge(origin, key, client, model, false),
        stage.ask(clientOf('chat'), others, false),
      ])
      t.match(answer, { status: 200, whole: true })
      t.equal(client.text(answer).length, words.length)
      t.equal(other.status, 200)
      const streamed = await askLarge(origin, key, client, model, true)
      t.match(streamed, { status: 200, whole: true })
      const { text, ...ending } = client.ending(streamed)
      t.match(ending, { good: 1, errors: [], trailing: false })
      t.equal(text.length, words.length)
    })
  }
})

proveNoLeak(t)
