import t from 'tap'
import { closeFrame, textFrame } from '../../src/wire/frames.js'
import { FRAME_CASES } from '../helpers/frame-cases.js'
import { lineOf, open, startRealtime } from '../helpers/realtime.js'

/** F-W3: frames as RFC 6455 wants them and as it does not, on both legs of both kinds of tunnel. */

const FRAMED = 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'

/** The close code for the other side if one side broke the protocol. */
const TOLD = { client: 1001, upstream: 1011 } as const

for (const tunnel of ['raw', 'framed'] as const) {
  for (const leg of ['client', 'upstream'] as const) {
    t.test(`F-W3 frames of the ${leg}, ${tunnel}: what RFC 6455 makes of them`, async t => {
      const stage = await startRealtime(t, tunnel === 'framed' ? FRAMED : '')
      const other = await open(t, stage)
      for (const frames of FRAME_CASES) {
        const { client, server } = await open(t, stage)
        const [from, to] = leg === 'client' ? [client, server] : [server, client]
        const bytes = frames.bytes(leg === 'client')
        const good = textFrame('good', leg === 'client')
        from.send(Buffer.concat([good, bytes]))
        const verdict = frames[tunnel]
        if (verdict !== 'pass') {
          t.match(await to.closes.count(1), [{ code: TOLD[leg] }], frames.what)
          to.send(Buffer.concat([textFrame('meanwhile', to === client), closeFrame(TOLD[leg], '', to === client)]))
          t.match(await from.closes.count(1), [{ code: verdict }], `${frames.what}: it hears its own code`)
          t.equal(from.texts.items[0], 'meanwhile', `${frames.what}: what the other side said first gets there`)
          t.same(to.texts.items, ['good'], `${frames.what}: nothing of it arrived`)
        } else if (tunnel === 'raw') {
          const expected = Buffer.concat([good, bytes])
          t.ok((await to.bytes(expected.length)).equals(expected), frames.what)
          t.equal(to.size, expected.length)
        } else {
          // Binary messages and pings leave nothing that is a text: one behind them tells that they have been read.
          from.send(textFrame('last', leg === 'client'))
          const expected = ['good', ...(frames.texts ?? []), 'last']
          t.same(await to.texts.count(expected.length), expected, frames.what)
        }
        for (const { socket } of [client, server]) socket.destroy()
      }
      other.client.send(textFrame('still here', true))
      t.same(await other.server.texts.count(1), ['still here'], 'another session went on')
      other.server.send(textFrame('so am I', false))
      t.same(await other.client.texts.count(1), ['so am I'])
    })
  }
}

t.test(
  'F-W3 a fault of the upstream in a head of which a part has passed ends the connection without a word',
  async t => {
    const { gateway, client, server } = await opened(t)
    // The mask shows in the second byte.
    server.send(Buffer.from([0x81]))
    await client.bytes(1)
    server.send(Buffer.from([0x80, 0, 0, 0, 0]))
    await client.gone.count(1)
    t.equal(client.size, 1)
    server.socket.destroy()
    t.match(await lineOf(gateway), { outcome: 'upstream_error', error: 'bad_upstream_response' })
  },
)

t.test('F-W3 a session that the gateway ends lets a frame pass whose head had only begun', async t => {
  const { gateway, client, server } = await opened(t)
  const text = textFrame('x'.repeat(300), false)
  server.send(text.subarray(0, 3))
  await client.bytes(3)
  client.send(textFrame('{"session":{"model":"not-mine"}}', true))
  await server.closes.count(1)
  server.send(Buffer.concat([text.subarray(3), textFrame('late', false)]))
  t.match(await client.closes.count(1), [{ code: 1008 }])
  t.equal(client.texts.items[0], 'x'.repeat(300))
  t.notOk(client.texts.items.includes('late'))
  for (const { socket } of [client, server]) socket.end()
  t.match(await lineOf(gateway), { error: 'model_not_found' })
})

async function opened(
  test: Pick<typeof t, 'teardown'>,
): Promise<Awaited<ReturnType<typeof startRealtime>> & Awaited<ReturnType<typeof open>>> {
  const stage = await startRealtime(test)
  return { ...stage, ...(await open(test, stage)) }
}
