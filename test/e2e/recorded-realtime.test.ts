import t from 'tap'
import { closeFrame, textFrame } from '../../src/wire/frames.js'
import { type End, open, startRealtime } from '../helpers/realtime.js'
import { type RecordedSession, recordedSessions } from '../helpers/recorded-sessions.js'

/** Sessions that were recorded with real servers, message by message through the gateway: both legs, and what was metered. */

const sessions = recordedSessions()
const skip = sessions.length === 0

/** Models that the sessions have what is said written down by: declared as they are, their names pass. */
const transcribers = sessions.flatMap(({ messages }) =>
  messages.flatMap(({ from, text }) => {
    const session = from === 'client' ? JSON.parse(text).session : undefined
    return session?.audio?.input?.transcription?.model ?? session?.input_audio_transcription?.model ?? []
  }),
)
const MODELS = [...new Set<string>(transcribers)].map(name => `  ${JSON.stringify(name)}: up\n`).join('')

const FRAMED = 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'

/** Where the servers count, beside the response or in it, and what the log calls it. */
const COUNTS: readonly [told: readonly string[], logged: string][] = [
  [['input_tokens'], 'input_tokens'],
  [['output_tokens'], 'output_tokens'],
  [['total_tokens'], 'total_tokens'],
  [['input_token_details', 'cached_tokens'], 'cached_tokens'],
  [['input_token_details', 'audio_tokens'], 'input_audio_tokens'],
  [['output_token_details', 'audio_tokens'], 'output_audio_tokens'],
  [['seconds'], 'audio_seconds'],
]
const COUNTED = ['response.done', 'conversation.item.input_audio_transcription.completed']

/** The sum of what the recorded server said that its responses and its transcripts used. */
function toldBy({ messages }: RecordedSession): Readonly<Record<string, number | undefined>> {
  const sums: Record<string, number | undefined> = Object.fromEntries(COUNTS.map(([, name]) => [name, undefined]))
  for (const { from, text } of messages) {
    const event = JSON.parse(text)
    if (from === 'client' || !COUNTED.includes(event.type)) continue
    const usage = Object.keys(event.response?.usage ?? {}).length > 0 ? event.response.usage : event.usage
    for (const [path, name] of COUNTS) {
      const count = path.reduce((value, key) => value?.[key], usage)
      if (typeof count === 'number') sums[name] = (sums[name] ?? 0) + count
    }
  }
  return sums
}

/** Says what was said, each message once the one before it has arrived; the frames that each side sent. */
async function replay({ messages }: RecordedSession, client: End, server: End): Promise<Record<'up' | 'down', Buffer>> {
  const sent: Record<'up' | 'down', Buffer[]> = { up: [], down: [] }
  for (const { from, text } of messages) {
    const [way, by, to] = from === 'client' ? (['up', client, server] as const) : (['down', server, client] as const)
    const bytes = textFrame(text, way === 'up')
    by.send(bytes)
    await to.texts.count(sent[way].push(bytes))
  }
  return { up: Buffer.concat(sent.up), down: Buffer.concat(sent.down) }
}

const said = ({ messages }: RecordedSession, by: string): readonly string[] =>
  messages.filter(({ from }) => from === by).map(({ text }) => text)

t.test('recorded sessions are enough to mean something', { skip }, async t => {
  t.ok(sessions.length >= 25, `${sessions.length} sessions`)
  const counting = sessions.filter(session => toldBy(session).total_tokens !== undefined)
  t.ok(counting.length >= 15, `${counting.length} that tell their usage`)
  t.ok(
    sessions.filter(session => toldBy(session).audio_seconds !== undefined).length >= 3,
    'and seconds that were heard',
  )
})

for (const tunnel of ['raw', 'framed'] as const) {
  t.test(`recorded sessions pass through a ${tunnel} tunnel, and what they used is metered`, { skip }, async t => {
    const stage = await startRealtime(t, MODELS + (tunnel === 'framed' ? FRAMED : ''))
    for (const [index, session] of sessions.entries()) {
      const { client, server } = await open(t, stage)
      const sent = await replay(session, client, server)
      t.same([server.texts.items, client.texts.items], [said(session, 'client'), said(session, 'server')], session.name)
      if (tunnel === 'raw') {
        t.ok((await server.bytes(sent.up.length)).equals(sent.up), 'bytes of the client')
        t.ok((await client.bytes(sent.down.length)).equals(sent.down), 'bytes of the server')
      }
      client.send(closeFrame(1000, '', true))
      await server.closes.count(1)
      server.send(closeFrame(1000, '', false))
      await client.closes.count(1)
      server.socket.end()
      const line = (await stage.gateway.log.count(index + 1, ({ msg }) => msg === 'request'))[index]
      const told = toldBy(session)
      t.same(Object.fromEntries(Object.keys(told).map(name => [name, line?.[name]])), told, session.name)
      t.match(line, { outcome: 'ok', close: 1000, events: session.messages.length })
    }
  })
}

t.test('F-A6 a recorded session that names a model of its own ends where it does', { skip }, async t => {
  const recorded = sessions.find(({ messages }) => messages.some(({ text }) => text.includes('"session.update"')))
  const messages = (recorded?.messages ?? []).filter(({ from }) => from === 'client')
  const at = messages.findIndex(({ text }) => JSON.parse(text).type === 'session.update')
  const update = JSON.parse(messages[at]?.text ?? '{}')
  const named = JSON.stringify({ ...update, session: { ...update.session, model: 'not-mine' } })
  const { client, server } = await open(t, await startRealtime(t))
  for (const { text } of messages.slice(0, at)) client.send(textFrame(text, true))
  client.send(textFrame(named, true))
  t.match(await client.closes.count(1), [{ code: 1008 }])
  await server.closes.count(1)
  t.same(
    server.texts.items,
    messages.slice(0, at).map(({ text }) => text),
    'what came before it passed',
  )
})
