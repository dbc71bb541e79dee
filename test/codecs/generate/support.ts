import { fold } from '../../../src/codecs/fold.js'
import { generate } from '../../../src/codecs/generate/index.js'
import type { AnswerContext, Frame, RequestHead, Target, Traits } from '../../../src/core/codec.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { TextEvent, TextRequest, TextResult } from '../../../src/core/text.js'

export const HEAD: RequestHead = { model: 'm', stream: false }

/** What an encoder said is lost: `field` or `field at place`. */
export interface Told extends Target {
  readonly lost: string[]
}

/** A target that writes losses down, as the gateway does: approximations only where a reason of their own is given. */
export function target(traits: Traits = {}): Told {
  const lost: string[] = []
  return {
    model: 'm',
    traits,
    lost,
    lose(field, at, why) {
      const carry = generate.client.carries[field]
      if (typeof carry === 'object' && 'refused' in carry) throw new Error(`refused: ${field}`)
      if (why === undefined && typeof carry === 'object' && 'approximated' in carry) return
      lost.push(at === undefined ? field : `${field} ${at}`)
    },
  }
}

export function request(members: Partial<TextRequest> = {}): TextRequest {
  return {
    model: 'm',
    stream: false,
    streamUsage: true,
    system: [],
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    tools: [],
    left: [],
    ...members,
  }
}

export function encode(
  members: Partial<TextRequest>,
  traits: Traits = {},
): { body: JsonObject; lost: readonly string[] } {
  const told = target(traits)
  return { body: generate.client.encodeRequest(request(members), told), lost: told.lost }
}

export function decode(body: JsonObject): TextRequest {
  return generate.server.decodeRequest(body, HEAD)
}

export interface ToldAnswer extends AnswerContext {
  readonly lost: string[]
}

export function answer(): ToldAnswer {
  const lost: string[] = []
  let ids = 0
  return {
    request: request(),
    newId: prefix => `${prefix}${ids++}`,
    now: 1,
    body: {},
    lost,
    lose: what => lost.push(what),
  }
}

export function framesOf(documents: readonly unknown[]): Frame[] {
  return documents.map(document => ({ data: JSON.stringify(document) }))
}

/** The events of a stream that ended well as a transfer. */
export function eventsOf(frames: readonly Frame[]): TextEvent[] {
  const decoder = generate.client.decodeStream()
  return [...frames.flatMap(frame => [...decoder.push(frame)]), ...decoder.end()]
}

export function resultOf(documents: readonly unknown[]): TextResult {
  return fold(eventsOf(framesOf(documents)))
}

export function encodeStream(events: readonly TextEvent[], context: AnswerContext = answer()): Frame[] {
  const encoder = generate.server.encodeStream(context)
  return events.flatMap(event => [...encoder.push(event)])
}
