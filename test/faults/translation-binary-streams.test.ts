import t from 'tap'
import { chunk } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Script } from '../helpers/raw-upstream.js'
import { CLIENTS } from '../helpers/text-clients.js'
import { begins, TEXT, upstreamOf } from '../helpers/text-upstreams.js'
import { startStage } from '../helpers/translation-stage.js'

// Streams in the binary framing that are odd but sound, or damaged, cut at every kind of place.

t.setTimeout(300_000)

/** Messages of the binary framing that its service may send, and this protocol has no word for. */
const BINARY_WAYS: readonly (readonly [string, (pieces: readonly string[]) => string])[] = [
  ['nothing else', pieces => pieces.join('')],
  ['a first message of its own', pieces => `event: initial-response\ndata: {}\n\n${pieces.join('')}`],
  [
    'events that no one knows',
    pieces => pieces.map(piece => `${piece}event: soundCheck\ndata: {"a":[1]}\n\n`).join(''),
  ],
  ['padding', pieces => pieces.join('').replaceAll(/^data: \{/gm, 'data: {"p":"abcdefghijkl",')],
  [
    'starts of blocks',
    pieces => {
      const start = 'event: contentBlockStart\ndata: {"contentBlockIndex":0,"start":{}}\n\n'
      return [...pieces.slice(0, 1), start, ...pieces.slice(1)].join('')
    },
  ],
]

t.test('odd but sound, in the binary framing', async t => {
  const stage = await startStage(t)
  const upstream = upstreamOf('converse')
  for (const [name, write] of BINARY_WAYS) {
    await t.test(`F-U15 converse with ${name}: the same answer, wherever it is cut`, async t => {
      const bytes = upstream.bytes(write(upstream.pieces))
      const step = Math.max(1, Math.floor(bytes.length / 24))
      const cuts = [1, 4, 11, 12, 13, ...Array.from({ length: 24 }, (_, i) => i * step + (i % 3)), bytes.length - 1]
      for (const client of CLIENTS) {
        for (const pieces of [
          ...cuts.map(at => [bytes.subarray(0, at), bytes.subarray(at)]),
          [...bytes].map(byte => Buffer.of(byte)),
        ]) {
          const script: Script = async peer => {
            await begins(upstream, [])(peer)
            for (const piece of pieces) if (piece.length > 0) await peer.send(chunk(piece))
            await peer.send('0\r\n\r\n')
          }
          const seen = client.ending(await stage.ask(client, stage.play('converse', script), true))
          t.match(seen, { text: TEXT, good: 1, errors: [], trailing: false }, `${client.name}, ${pieces.length} pieces`)
        }
      }
    })
  }

  await t.test('F-U15 a message whose checksum is wrong, anywhere in it: one error, and no good end', async t => {
    const whole = upstream.bytes(upstream.pieces.join(''))
    for (const client of CLIENTS) {
      for (const at of [2, 9, 20, 100, Math.floor(whole.length / 2), whole.length - 2]) {
        const bytes = Buffer.from(whole)
        bytes[at] = (bytes[at] ?? 0) ^ 1
        const script: Script = async peer => {
          await begins(upstream, [])(peer)
          await peer.send(chunk(bytes))
          await peer.send('0\r\n\r\n')
        }
        const answer = await stage.ask(client, stage.play('converse', script), true)
        if (answer.status === 200)
          t.match(client.ending(answer), { good: 0, errors: [{}], trailing: false }, `${client.name}, ${at}`)
        else client.error(t, answer, 502)
      }
    }
  })
})

proveNoLeak(t)
