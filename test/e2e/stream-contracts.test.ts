import t, { type Test } from 'tap'
import { chatEvent, chunk, hang, startStream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { streamError } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { asking, clientOf, EACH_CLIENT, type TextClient } from '../helpers/text-clients.js'
import { EACH_UPSTREAM, streams, TEXT, type TextUpstream, upstreamOf } from '../helpers/text-upstreams.js'

// Events here are cut short.
relaysAnything()

/** The models of each protocol, by what their contract is about. */
const CONTRACTS = {
  begin: '{ first_token: 200ms }',
  gap: '{ gap: 200ms }',
  error: '{ first_token: 200ms, then: error }',
} as const
type Contract = keyof typeof CONTRACTS

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
}

const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
const upstreams = EACH_UPSTREAM.flatMap(({ name, yaml }) => [
  `  a-${name}: { base: "${a.origin}", ${yaml} }\n`,
  `  b-${name}: { base: "${b.origin}", ${yaml} }\n`,
])
const models = EACH_UPSTREAM.flatMap(({ name }) =>
  Object.entries(CONTRACTS).map(
    ([contract, text]) => `  ${name}-${contract}: { targets: [a-${name}, b-${name}], stream: ${text} }\n`,
  ),
)
const shared = await startTestGateway(
  t,
  `version: 1\n${CALLER}\nhealth: off\nupstreams:\n${upstreams.join('')}models:\n${models.join('')}`,
)

/** A client of one protocol at targets of the same or of another one. */
interface Lane {
  readonly client: TextClient
  readonly upstream: TextUpstream
}

/** Bytes that pass, in each protocol, and streams that are translated, by the protocol of the client. */
const LANES: Readonly<Record<string, Lane>> = Object.fromEntries([
  ...EACH_UPSTREAM.map(upstream => [`relayed ${upstream.name}`, { client: clientOf(upstream.protocol), upstream }]),
  ...EACH_CLIENT.filter(({ protocol }) => protocol !== 'chat').map(client => [
    `${client.protocol} from chat`,
    { client, upstream: upstreamOf('chat') },
  ]),
  ['chat from messages', { client: clientOf('chat'), upstream: upstreamOf('messages') }],
])

/** What the first target does with the request, the second one answers; and how often each was asked. */
async function ask({ client, upstream }: Lane, contract: Contract, script: Script) {
  const before = [a.requests.items.length, b.requests.items.length] as const
  a.answer(script)
  b.answer(streams(upstream))
  const [path, options] = asking(client, shared.key, `${upstream.name}-${contract}`, true)
  const answer = await shared.request(path, options)
  const asked = [a.requests.items.length - before[0], b.requests.items.length - before[1]]
  return { answer, asked, line: () => lineOf(answer) }
}

function lineOf(answer: Answer): Promise<object> {
  return shared.log.find(({ msg, id }) => msg === 'request' && id === answer.header('x-request-id'))
}

/** The pieces of a stream until its first word, and those with it. */
function parts({ pieces, name, piece }: TextUpstream): { readonly before: readonly string[]; readonly first: string } {
  const at = pieces.findIndex(one => one.includes('one '))
  const counts = piece(JSON.stringify({ usageMetadata: { promptTokenCount: 3 }, modelVersion: 'up' }))
  return { before: name === 'generate' ? [counts] : pieces.slice(0, at), first: pieces[at] ?? '' }
}

const PING = ': ping\n\n'
/** What an upstream may send without saying anything. */
const pingOf = ({ protocol, piece }: TextUpstream): string =>
  protocol === 'converse' ? piece('{}', 'initial-response') : PING

const SILENT: Readonly<Record<string, (upstream: TextUpstream) => Script>> = {
  'says nothing': () => hang,
  'sends its head alone': upstream => streams(upstream, [], hang),
  'begins, sends pings, and no content': upstream => {
    const ping = pingOf(upstream)
    return streams(upstream, [ping, ...parts(upstream).before, ping], hang)
  },
}

for (const [name, lane] of Object.entries(LANES)) {
  const { client, upstream } = lane
  for (const [title, script] of Object.entries(SILENT)) {
    t.test(`F-U3 ${name}: an upstream that ${title} is left for the next target`, async t => {
      const closed = a.closes.items.length
      const { answer, asked, line } = await ask(lane, 'begin', script(upstream))
      t.equal(answer.status, 200)
      t.match(client.ending(answer), { text: TEXT, good: 1, errors: [], trailing: false })
      t.same(asked, [1, 1])
      await a.closes.count(closed + 1)
      t.match(await line(), {
        attempts: [
          { upstream: `a-${upstream.name}`, phase: 'first_token' },
          { upstream: `b-${upstream.name}`, phase: 'ok' },
        ],
      })
    })
  }

  t.test(
    `${name}: a gap after content ends the stream with an error of its family, and no other target is asked`,
    async t => {
      const { before, first } = parts(upstream)
      const { answer, asked, line } = await ask(
        lane,
        'gap',
        streams(upstream, [...before, first, pingOf(upstream)], hang),
      )
      t.equal(answer.status, 200)
      const { text, good, errors } = client.ending(answer)
      t.same({ text, good, errors: errors.length }, { text: 'one ', good: 0, errors: 1 })
      t.same(asked, [1, 0])
      t.match(await line(), { attempts: [{ upstream: `a-${upstream.name}`, phase: 'gap' }] })
    },
  )

  t.test(`${name}: then: error leaves it at that before the first content, too`, async t => {
    const { answer, asked } = await ask(lane, 'error', hang)
    client.error(t, answer, 504)
    t.same(asked, [1, 0])
  })
}

/** The model `m` at two targets of chat, of which the second one answers. */
async function stage(t: Test, model: string, script: Script, more = ''): Promise<Stage> {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(script)
  b.answer(streams(upstreamOf('chat')))
  const { yaml } = upstreamOf('chat')
  const upstreams = `upstreams:\n  a: { base: "${a.origin}", ${yaml} }\n  b: { base: "${b.origin}", ${yaml} }\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: ${model} }\n${more}`)
  return { gateway, a, b }
}

t.test('events in good time pass unchanged, with what was held before them', async t => {
  const { pieces } = upstreamOf('chat')
  const contract = '{ first_token: 5s, gap: 5s, min_rate: 1/s }'
  const { gateway, b } = await stage(t, `{ targets: [a, b], stream: ${contract} }`, async peer => {
    await startStream(peer)
    for (const piece of [PING, ...pieces]) await peer.send(chunk(piece))
    await peer.send('0\r\n\r\n')
  })
  const { text } = await gateway.chat({ stream: true })
  t.equal(text, PING + pieces.join(''))
  t.equal(b.requests.items.length, 0)
})

t.test('without a contract a silent stream is left by default, a silent whole answer is not', async t => {
  const settings = 'timeouts: { first_event: 200ms, first_byte: 400ms }\nhealth: off\n'
  const { gateway, a, b } = await stage(t, '[a, b]', hang, settings)
  t.match((await gateway.chat({ stream: true })).text, 'two ')
  t.equal((await gateway.chat()).status, 504)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
})

t.test('the error event of a stream that is too slow has all members of its family', async t => {
  const script: Script = async peer => {
    await startStream(peer)
    await peer.send(chunk(chatEvent('a')))
    await hang(peer)
  }
  const { gateway } = await stage(t, '{ targets: [a, b], stream: { gap: 200ms } }', script)
  streamError(t, await gateway.chat({ stream: true }))
})

t.test('a stream that is slower than min_rate is ended with an error event', async t => {
  // Some pieces, and then a few a second, for longer than the ten seconds of the window.
  const script: Script = async peer => {
    await startStream(peer)
    for (;;) {
      await peer.send(chunk(chatEvent('a')))
      const gone = await Promise.race([peer.gone().then(() => true), new Promise(r => setTimeout(r, 500, false))])
      if (gone === true) return
    }
  }
  const model = '{ targets: [a, b], stream: { gap: 60s, min_rate: 1000/s } }'
  const { gateway, b } = await stage(t, model, script)
  streamError(t, await gateway.chat({ stream: true }))
  t.equal(b.requests.items.length, 0)
  t.match(await gateway.log.find(line => line.msg === 'request'), { attempts: [{ upstream: 'a', phase: 'min_rate' }] })
})

proveNoLeak(t)
