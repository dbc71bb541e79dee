import { deepStrictEqual } from 'node:assert/strict'
import type { Test } from 'tap'
import { fold, unfold } from '../../src/codecs/fold.js'
import type { Frame, TextCodec } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { TextEvent, TextResult } from '../../src/core/text.js'
import { fc } from '../helpers/property.js'
import { sseFrames } from '../helpers/text-recordings.js'
import { ANSWERS } from './answers.js'
import { streams } from './streams.js'
import { answerTo, decodeAll, encodeAll, faultsOf, gistOf, isTerminal, requestOf, sseOf } from './support.js'

/** Streams: whatever comes in any order, one terminal, and never a clean end of what broke off. */
export function streamContract(t: Test, codec: TextCodec): void {
  const encode = (events: readonly TextEvent[]): Frame[] =>
    encodeAll(codec, events, answerTo(requestOf({ stream: true })))

  t.test('streams whose calls come at the same time', async () => {
    fc.assert(
      fc.property(streams, sent => {
        const events = decodeAll(codec, encode(sent))
        deepStrictEqual(faultsOf(events), [])
        const [was, is] = [gistOf(fold(sent)), gistOf(fold(events))]
        for (const [i, { text, calls, reason }] of was.entries())
          deepStrictEqual({ text: is[i]?.text, calls: is[i]?.calls, reason: is[i]?.reason }, { text, calls, reason })
      }),
      { numRuns: 200, endOnFailure: true },
    )
  })

  t.test('a stream that is cut after any frame gives an error, and never an end', async t => {
    for (const [name, result] of Object.entries(ANSWERS)) {
      const frames = encode(unfold(result))
      for (let cut = 0; cut < frames.length; cut++) {
        const events = decodeAll(codec, frames.slice(0, cut))
        const terminals = events.filter(isTerminal)
        // Chat needs no [DONE] once every choice that has begun has ended.
        const said = frames.slice(0, cut).map(({ data }) => data)
        const begun = said.flatMap(data => data.match(/"index":\d+,"delta":\{"role"/g) ?? []).length
        const ended = said.flatMap(data => data.match(/"finish_reason":"/g) ?? []).length
        if (codec.protocol === 'chat' && begun > 0 && begun === ended) {
          t.match(terminals, [{ type: 'finish' }], `${name}, ${cut} of ${frames.length}`)
          continue
        }
        t.match(
          terminals,
          [{ type: 'error', error: { code: 'upstream_truncated' } }],
          `${name}, ${cut} of ${frames.length}`,
        )
        t.equal(terminals.length, 1)
      }
    }
  })

  t.test('after its last event a decoder says nothing, an encoder neither', async t => {
    const frames = encode(unfold(ANSWERS.text as TextResult))
    const decoder = codec.client.decodeStream()
    const events = [...frames, ...frames].flatMap(frame => decoder.push(frame))
    t.equal([...events, ...decoder.end()].filter(isTerminal).length, 1)
    const encoder = codec.server.encodeStream(answerTo(requestOf({ stream: true })))
    const events2 = unfold(ANSWERS.text as TextResult)
    for (const event of events2) encoder.push(event)
    t.same(
      events2.flatMap(event => encoder.push(event)),
      [],
    )
  })

  t.test('an error at any place is the last that a client hears, and is one', async t => {
    const error = new GatewayError('upstream_truncated', "The upstream's answer ended early.")
    const events = unfold(ANSWERS['text and several calls'] as TextResult)
    for (let cut = 0; cut < events.length; cut++) {
      const sent: TextEvent[] = [...events.slice(0, cut), { type: 'error', error }]
      const got = decodeAll(codec, encode(sent))
      t.match(got.filter(isTerminal), [{ type: 'error', error: { message: /ended early/ } }], `after ${cut}`)
      t.equal(got.filter(isTerminal).length, 1)
    }
  })

  t.test('pings may come anywhere', async t => {
    const events = unfold(ANSWERS['text and several calls'] as TextResult)
    const frames = encode(events.flatMap(event => (isTerminal(event) ? [event] : [event, { type: 'ping' }])))
    t.same(gistOf(fold(decodeAll(codec, frames))), gistOf(fold(decodeAll(codec, encode(events)))))
  })

  t.test('bytes that are cut anywhere are the same frames', async t => {
    const frames = encode(unfold(ANSWERS['text and several calls'] as TextResult))
    const bytes = sseOf(frames)
    const whole = sseFrames(bytes)
    t.same(whole, frames)
    const differ = Array.from(bytes, (_, at) => at).filter(
      at => JSON.stringify(sseFrames(bytes.subarray(0, at), bytes.subarray(at))) !== JSON.stringify(whole),
    )
    t.same(differ, [], 'places of cuts that make a difference')
    t.ok(
      frames.every(({ data, event = '' }) => !/[\r\n]/.test(data + event)),
      'no line end within a frame',
    )
  })
}
