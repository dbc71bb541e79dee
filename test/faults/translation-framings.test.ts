import t, { type Test } from 'tap'
import { chunk, finish, hang, reset } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Answer } from '../helpers/raw-client.js'
import type { Script } from '../helpers/raw-upstream.js'
import { CLIENTS, type TextClient } from '../helpers/text-clients.js'
import { begins, ends, streams, TEXT, type TextUpstream, UPSTREAMS } from '../helpers/text-upstreams.js'
import { startStage } from '../helpers/translation-stage.js'

// Streams of the native protocol as lines and as one array: JSON in one piece, however the upstream's stream goes wrong.

t.setTimeout(300_000)

const NATIVE = CLIENTS.filter(({ protocol, name }) => protocol === 'generate' && !name.endsWith('sse'))

interface Document {
  readonly error?: { readonly code: number; readonly message: string; readonly status: string }
  readonly candidates?: readonly unknown[]
}

/** A whole stream, JSON from end to end. */
function documentsOf(t: Test, client: TextClient, answer: Answer): readonly Document[] {
  t.equal(answer.whole, true)
  t.equal(answer.status, 200)
  if (client.name.endsWith('ndjson')) {
    t.equal(answer.header('content-type'), 'application/x-ndjson')
    t.ok(answer.text.endsWith('\n'))
    return answer.text
      .slice(0, -1)
      .split('\n')
      .map(line => JSON.parse(line) as Document)
  }
  t.equal(answer.header('content-type'), 'application/json; charset=UTF-8')
  const documents = JSON.parse(answer.text) as readonly Document[]
  t.ok(Array.isArray(documents) && documents.length > 0)
  return documents
}

/** Faults before the first message, and whether it is the upstream's own word that a relay passes on. */
function beginnings(upstream: TextUpstream): readonly (readonly [name: string, script: Script, told?: true])[] {
  const [first = '', second = ''] = upstream.pieces
  const array = upstream.name.endsWith('array')
  const at = (data: string): string => (array ? `[${data}` : upstream.piece(data))
  const failure = (message: string): string =>
    array ? `[${upstream.failure(message).replace(/^,\s*/, '')}` : upstream.failure(message)
  const raw =
    (...pieces: readonly Buffer[]): Script =>
    async peer => {
      await begins(upstream, [])(peer)
      for (const piece of pieces) if (piece.length > 0) await peer.send(chunk(piece))
      await ends(peer)
    }
  const { bytes } = upstream
  const nothing = upstream.protocol === 'converse' ? upstream.piece('{}', 'initial-response') : ': nothing\n\n'
  return [
    ['F-U4 a reset before the head', reset],
    ['F-U5 a reset behind the head', streams(upstream, [], reset)],
    ['F-U8 an end behind the head', streams(upstream, [], finish)],
    ['F-U8 half of the first message', raw(halves(bytes(first))[0])],
    ['F-U13 no message at all', raw()],
    ['F-U13 an array of nothing', raw(bytes(array ? '[]' : nothing))],
    ['F-U14 an error as the first message', raw(bytes(failure('out of chalk'))), true],
    ['F-U14 an error in two pieces', raw(...halves(bytes(failure('out of chalk')))), true],
    ['F-U15 a first message that is none', raw(bytes(at('hello')))],
    ['F-U15 a first message that is none, behind nothing', raw(bytes(at('"x"') + second))],
    ['F-U7 silence behind the head', streams(upstream, [], hang)],
    ['F-U7 silence in the first message', streams(upstream, [first.slice(0, 5)], hang)],
  ]
}

function halves(bytes: Buffer): readonly [Buffer, Buffer] {
  const middle = Math.floor(bytes.length / 2)
  return [bytes.subarray(0, middle), bytes.subarray(middle)]
}

t.test('failures before anything was sent are errors by themselves', async t => {
  const stage = await startStage(t, { more: 'timeouts: { idle: 400ms, first_byte: 400ms }\n' })
  for (const client of NATIVE) {
    for (const upstream of UPSTREAMS) {
      await t.test(`${client.name} ← ${upstream.name}`, async t => {
        for (const [name, script, told] of beginnings(upstream)) {
          const answer = await stage.ask(client, stage.play(upstream.protocol, script), true)
          if (answer.status === 200) {
            t.ok(told === true || upstream.protocol === 'responses', `${name}: ${answer.text}`)
            const documents = documentsOf(t, client, answer)
            t.equal(documents.filter(one => one.error !== undefined).length, 1, name)
            t.ok(documents.at(-1)?.error, name)
          } else {
            const { message } = client.error(t, answer, answer.status)
            t.ok(answer.status >= 500, name)
            if (told === true) t.equal(message, 'out of chalk', name)
          }
        }
      })
    }
  }
})

t.test('failures behind something that was sent are the last document', async t => {
  const stage = await startStage(t)
  for (const client of NATIVE) {
    for (const upstream of UPSTREAMS) {
      await t.test(`${client.name} ← ${upstream.name}: in pieces, and in one piece with what went before`, async t => {
        const before = upstream.pieces.slice(0, upstream.pieces.findIndex(piece => piece.includes('two ')) + 1)
        for (const bad of [upstream.failure('out of chalk'), upstream.piece('{"half":'), upstream.piece('"x"')]) {
          for (const pieces of [[...before, bad], [before.join('') + bad]]) {
            const answer = await stage.ask(client, stage.play(upstream.protocol, streams(upstream, pieces)), true)
            const documents = documentsOf(t, client, answer)
            t.match(documents.at(-1), { error: { code: Number, message: String, status: String } })
            t.equal(documents.filter(one => one.error !== undefined).length, 1)
            t.ok(documents.length > 1, answer.text)
          }
        }
      })
    }
  }
})

t.test('a whole answer, and one without a word, are JSON as well', async t => {
  const stage = await startStage(t)
  for (const client of NATIVE) {
    for (const upstream of UPSTREAMS) {
      const all = documentsOf(
        t,
        client,
        await stage.ask(client, stage.play(upstream.protocol, streams(upstream)), true),
      )
      t.equal(all.filter(({ candidates }) => candidates !== undefined).length, all.length)
      t.ok(JSON.stringify(all).includes(TEXT.slice(-5)), `${client.name} ← ${upstream.name}`)
      const silent = upstream.pieces.filter(piece => !/one |two |three/.test(piece) || piece.includes('inishReason'))
      const answer = await stage.ask(client, stage.play(upstream.protocol, streams(upstream, silent)), true)
      if (answer.status === 200) documentsOf(t, client, answer)
      else client.error(t, answer, 502)
    }
  }
})

proveNoLeak(t)
