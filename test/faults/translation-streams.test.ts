import t from 'tap'
import { finish, hang, reset } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Script } from '../helpers/raw-upstream.js'
import { CLIENTS, type TextClient } from '../helpers/text-clients.js'
import { begins, ends, streams, TEXT, type TextUpstream, UPSTREAMS } from '../helpers/text-upstreams.js'
import { type Stage, startStage } from '../helpers/translation-stage.js'

// Every client of a text protocol before every upstream of another one, whose stream goes wrong at every place.

t.setTimeout(300_000)

/** Streams of these are relayed where both sides speak them; those of the others have their own file. */
const RELAYED: ReadonlySet<string> = new Set(['messages', 'generate', 'converse'])

const PAIRS = CLIENTS.flatMap(client =>
  UPSTREAMS.filter(({ protocol }) => protocol !== client.protocol || RELAYED.has(protocol)).map(
    upstream => [client, upstream] as const,
  ),
)

/** Data of messages that are none. Arrays of documents are pieces of a stream in the native protocol. */
const MALFORMED = ['{"half":', 'hello', '\0', '[7]', '7', '"x"']

interface Seen {
  readonly status: number
  readonly good: number
  readonly errors: number
  readonly word: string
  readonly trailing: boolean
  readonly text: string
  readonly whole: boolean
}

async function play(stage: Stage, client: TextClient, upstream: TextUpstream, script: Script): Promise<Seen> {
  const answer = await stage.ask(client, stage.play(upstream.protocol, script), true)
  const { status, whole } = answer
  if (status !== 200) return { status, good: 0, errors: 1, word: '', trailing: false, text: '', whole }
  const { good, errors, text, trailing } = client.ending(answer)
  return { status, good, errors: errors.length, word: errors[0]?.word ?? '', trailing, text, whole }
}

/** One end, and not a good one. */
const BAD = { good: 0, errors: 1, trailing: false, whole: true }
/** A relay has passed the last words on before it sees that the transfer goes wrong. */
const LATE = { errors: 1, text: TEXT, whole: true }
const GOOD = { status: 200, good: 1, errors: 0, trailing: false, whole: true, text: TEXT }

const title = (client: TextClient, upstream: TextUpstream): string => `${client.name} ← ${upstream.name}`

t.test('streams that go wrong', async t => {
  const stage = await startStage(t)

  for (const [client, upstream] of PAIRS) {
    const { pieces, enough } = upstream
    const relayed = client.protocol === upstream.protocol
    const bad = (one: Seen): object => (relayed && one.text === TEXT ? LATE : BAD)
    const run = (script: Script): Promise<Seen> => play(stage, client, upstream, script)

    await t.test(`${title(client, upstream)}: a stream that goes well has one good end`, async t => {
      t.match(await run(streams(upstream)), GOOD)
    })

    for (const [name, last] of [
      ['F-U6 a reset', reset],
      ['F-U8 a connection that ends', finish],
      ['F-U8 a transfer that ends', ends],
    ] as const) {
      await t.test(`${title(client, upstream)}: ${name} after any event gives one error and no good end`, async t => {
        // Nothing marks the end of the native protocol's events but the end of the transfer: a relay takes it at its word.
        const trusted = relayed && last === ends && upstream.name === 'generate'
        const cuts = pieces
          .map((_, length) => length)
          .filter(length => last !== ends || length < (trusted ? 1 : enough))
        const seen = await Promise.all(cuts.map(length => run(streams(upstream, pieces.slice(0, length), last))))
        for (const [index, one] of seen.entries()) {
          // A whole answer may have been sent before the connection broke.
          if (one.good === 1 && index >= enough) t.match(one, GOOD, `after ${index}`)
          else t.match(one, bad(one), `after ${index}`)
          t.ok(TEXT.startsWith(one.text), 'what came is a beginning of what was sent')
        }
        t.not(seen[0]?.status, 200, 'before the first event it is an error answer')
      })
    }

    await t.test(`${title(client, upstream)}: F-U15 a malformed frame at any place gives one error`, async t => {
      // Between the elements of an array, control characters pass for space.
      // What is JSON passes where events are relayed.
      const skipped = upstream.name.endsWith('array') ? '\0' : relayed ? '[7]' : undefined
      for (const data of MALFORMED.filter(one => one !== skipped)) {
        const places = pieces.map((_, index) => index).filter(index => index > 0 && index < enough)
        const seen = await Promise.all(
          places.map(index =>
            run(streams(upstream, [...pieces.slice(0, index), upstream.piece(data), ...pieces.slice(index)])),
          ),
        )
        for (const [index, one] of seen.entries()) t.match(one, bad(one), `${data} after ${index + 1}`)
      }
    })

    await t.test(`${title(client, upstream)}: F-U14 an error frame at any place gives one error`, async t => {
      const places = pieces.map((_, index) => index).filter(index => index > 0 && index < enough)
      for (const index of places) {
        const script = streams(upstream, [...pieces.slice(0, index), upstream.failure('out of chalk')])
        const answer = await stage.ask(client, stage.play(upstream.protocol, script), true)
        if (answer.status !== 200) {
          t.match(client.error(t, answer, answer.status).message, 'out of chalk')
          continue
        }
        const ending = client.ending(answer)
        t.match(ending.errors, [{ message: 'out of chalk' }], `after ${index}`)
        if (!relayed || ending.text !== TEXT) t.match(ending, { good: 0, trailing: false })
        t.match(await stage.line(answer), { outcome: 'upstream_error' })
      }
    })

    await t.test(`${title(client, upstream)}: F-U13 an empty stream is an error answer`, async t => {
      const answer = await stage.ask(client, stage.play(upstream.protocol, streams(upstream, [])), true)
      client.error(t, answer, 502)
      const blank = upstream.contentType.startsWith('text') ? ': x\n\n' : ' '
      t.match(await run(streams(upstream, [blank])), BAD)
    })

    await t.test(`${title(client, upstream)}: F-U9 what follows the end is dropped`, async t => {
      const array = upstream.name.endsWith('array')
      const last = pieces.at(-1) ?? ''
      for (const extra of array || (relayed && upstream.protocol === 'generate')
        ? []
        : [last, pieces[2] ?? '', ': bye\n\n', upstream.failure('late'), 'garbage']) {
        const seen = await run(streams(upstream, [...pieces, extra]))
        // Nothing marks the end of the native protocol's streams but the end of the transfer.
        if (upstream.protocol === 'generate') t.equal(seen.good + seen.errors, 1, JSON.stringify([extra, seen]))
        else t.match(seen, GOOD, extra)
      }
    })

    if (upstream.protocol !== 'generate') {
      await t.test(`${title(client, upstream)}: F-U9 a transfer that never ends does not hold the client`, async t => {
        t.match(await run(streams(upstream, pieces, hang)), GOOD)
      })
    }
  }
})

t.test('F-U7 streams that stall', async t => {
  const stage = await startStage(t, { more: 'timeouts: { idle: 400ms, first_byte: 400ms }\n' })
  for (const [client, upstream] of PAIRS) {
    await t.test(`F-U7 ${title(client, upstream)}: silence after any event gives one error`, async t => {
      const { pieces, enough } = upstream
      // Where a transfer's end is the answer's, silence is never the end.
      const cuts = pieces.map((_, length) => length).filter(length => length < enough)
      const seen = await Promise.all(
        cuts.map(length => play(stage, client, upstream, streams(upstream, pieces.slice(0, length), hang))),
      )
      const relayed = client.protocol === upstream.protocol
      for (const [index, one] of seen.entries())
        t.match(one, relayed && one.text === TEXT ? LATE : BAD, `after ${index}`)
      t.equal(seen[0]?.status, 504)
    })
  }
  await t.test('F-U7 pings and comments are not content', async t => {
    for (const [client, upstream] of PAIRS) {
      if (!upstream.contentType.startsWith('text')) continue
      const ping: Script = async peer => {
        const comment = upstream.protocol === 'messages' ? upstream.piece('{"type":"ping"}', 'ping') : ': ping\n\n'
        const timer = setInterval(() => {
          if (!peer.socket.destroyed) peer.socket.write(`${comment.length.toString(16)}\r\n${comment}\r\n`)
        }, 20)
        await peer.gone()
        clearInterval(timer)
      }
      const script: Script = async peer => {
        await begins(upstream, upstream.pieces.slice(0, upstream.enough - 1))(peer)
        await ping(peer)
      }
      t.match(await play(stage, client, upstream, script), BAD, title(client, upstream))
    }
  })
})

proveNoLeak(t)
