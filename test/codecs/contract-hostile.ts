import { deepStrictEqual } from 'node:assert/strict'
import type { Test } from 'tap'
import { unfold } from '../../src/codecs/fold.js'
import type { Frame, TextCodec } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import { FIELDS, type Field } from '../../src/core/fields.js'
import type { Json } from '../../src/core/json.js'
import type { TextResult } from '../../src/core/text.js'
import { fc } from '../helpers/property.js'
import { ANSWERS, sealedAnswers } from './answers.js'
import { hostile, hostileObject } from './hostile.js'
import { SAMPLES } from './samples.js'
import {
  answerTo,
  decodeAll,
  encodeAll,
  faultsOf,
  isTerminal,
  onlyGatewayErrors,
  plain,
  requestOf,
  targetOf,
} from './support.js'

/** Documents that no one would send: errors of the gateway, and nothing else. */
export function hostileContract(t: Test, codec: TextCodec, all: readonly TextCodec[]): void {
  const samples = (Object.keys(FIELDS) as Field[]).flatMap(field => SAMPLES[field](codec.protocol, codec.protocol))
  const bodies = samples.flatMap(({ request }) => {
    const body = onlyGatewayErrors(() => codec.client.encodeRequest(request, targetOf(codec)))
    return body instanceof GatewayError ? [] : [plain(body)]
  })
  const results = Object.values({ ...ANSWERS, ...sealedAnswers(codec.protocol) })
  const numRuns = Number(process.env.HOSTILE_RUNS ?? 300)

  t.test('hostile requests: nothing but errors of the gateway', async t => {
    const head = { model: 'm', stream: true }
    fc.assert(
      fc.property(hostileObject(bodies), body => {
        const request = onlyGatewayErrors(() => codec.server.decodeRequest(body, head))
        if (request instanceof GatewayError) return request.status < 500
        for (const other of all) onlyGatewayErrors(() => other.client.encodeRequest(request, targetOf(other)))
        onlyGatewayErrors(() => codec.server.encodeResult(ANSWERS.text as TextResult, answerTo(request, body)))
        return true
      }),
      { numRuns, endOnFailure: true },
    )
    t.pass()
  })

  t.test('hostile answers: nothing but errors of the gateway', async t => {
    const documents = results.map(result => plain(codec.server.encodeResult(result, answerTo(requestOf()))))
    fc.assert(
      fc.property(hostile(documents), body => {
        onlyGatewayErrors(() => codec.client.decodeError(500, body))
        const result = onlyGatewayErrors(() => codec.client.decodeResult(body))
        if (result instanceof GatewayError) return result.status >= 400
        for (const other of all) {
          onlyGatewayErrors(() => other.server.encodeResult(result, answerTo(requestOf())))
          onlyGatewayErrors(() => encodeAll(other, unfold(result), answerTo(requestOf())))
        }
        return true
      }),
      { numRuns, endOnFailure: true },
    )
    t.pass()
  })

  t.test('hostile streams: sound events, one terminal, and no exception at all', async () => {
    const lists = results.map(result => encodeAll(codec, unfold(result), answerTo(requestOf({ stream: true }))))
    const documents = lists.map(frames => frames.map(({ event = null, data }) => ({ event, data: asJson(data) })))
    fc.assert(
      fc.property(hostile(documents), edited => {
        const frames = (Array.isArray(edited) ? (edited as readonly Json[]) : []).map(asFrame)
        const events = decodeAll(codec, frames)
        deepStrictEqual(faultsOf(events), [])
        for (const other of all)
          onlyGatewayErrors(() => encodeAll(other, events, answerTo(requestOf({ stream: true }))))
      }),
      { numRuns, endOnFailure: true },
    )
  })

  t.test('frames that are not documents', async t => {
    for (const data of ['', 'x', '{', 'null', '[]', '"a"', '{"a":', '\u0000', 'NaN', '[DONE', '{"__proto__":1}']) {
      const events = decodeAll(codec, [{ data }, { event: 'message_start', data }])
      t.match(events.filter(isTerminal), [{ type: 'error' }], data)
    }
  })
}

function asJson(data: string): Json {
  return data === '[DONE]' ? data : (JSON.parse(data) as Json)
}

function asFrame(value: Json): Frame {
  const { event, data } = (typeof value === 'object' && value !== null ? value : {}) as { event?: Json; data?: Json }
  return {
    ...(typeof event === 'string' && { event }),
    data: data === '[DONE]' ? data : JSON.stringify(data ?? null),
  }
}
