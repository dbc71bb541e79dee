import type { AnswerContext, Frame, Target, TextCodec, Traits } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Field } from '../../src/core/fields.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import type { Part, TextEvent, TextRequest, TextResult } from '../../src/core/text.js'

export interface Loss {
  readonly field: Field
  readonly at?: string
  readonly why?: string
}

export interface TestTarget extends Target {
  readonly lost: Loss[]
}

/** A target that notes what is lost, and refuses what the codec's table says is refused, as the gateway's does. */
export function targetOf(codec: TextCodec, traits: Traits = {}): TestTarget {
  const lost: Loss[] = []
  return {
    model: 'upstream-model',
    traits: { max_output: 4096, ...traits },
    lost,
    lose(field, at, why) {
      const carry = codec.client.carries[field]
      if (typeof carry === 'object' && 'refused' in carry)
        throw new GatewayError('untranslatable', `${at ?? field}: ${why ?? carry.refused}`, { param: at ?? field })
      lost.push({ field, ...(at !== undefined && { at }), ...(why !== undefined && { why }) })
    },
  }
}

export interface TestAnswer extends AnswerContext {
  readonly lost: string[]
}

/** What an answer is encoded for: this request, in a world where ids are counted and no time goes by. */
export function answerTo(request: TextRequest, body: JsonObject = {}): TestAnswer {
  const lost: string[] = []
  let ids = 0
  return {
    request,
    body,
    now: 1_700_000_000,
    lost,
    newId: prefix => {
      ids += 1
      return prefix + ids.toString(16).padStart(24, '0')
    },
    lose: (what, why) => {
      lost.push(`${what}: ${why}`)
    },
  }
}

export function requestOf(more: Partial<TextRequest> = {}): TextRequest {
  return {
    model: 'm',
    stream: false,
    streamUsage: true,
    system: [],
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
    tools: [],
    left: [],
    ...more,
  }
}

/** What a server of the same protocol reads of a request that was encoded. */
export function readBack(codec: TextCodec, request: TextRequest, target: TestTarget = targetOf(codec)): TextRequest {
  const body = codec.client.encodeRequest(request, target)
  return codec.server.decodeRequest(plain(body) as JsonObject, { model: 'upstream-model', stream: request.stream })
}

/** As it is once it has been over the wire. */
export function plain<T>(value: T): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

/** The bytes of an event stream. */
export function sseOf(frames: readonly Frame[]): Buffer {
  return Buffer.from(
    frames.map(({ event, data }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`).join(''),
  )
}

/** All events of a stream that ended well as a transfer. */
export function decodeAll(codec: TextCodec, frames: readonly Frame[]): TextEvent[] {
  const decoder = codec.client.decodeStream()
  return [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
}

/** All frames for these events. */
export function encodeAll(codec: TextCodec, events: readonly TextEvent[], answer: AnswerContext): Frame[] {
  const encoder = codec.server.encodeStream(answer)
  return events.flatMap(event => [...encoder.push(event)])
}

export function isTerminal({ type }: TextEvent): boolean {
  return type === 'finish' || type === 'error'
}

/** What is wrong with a stream of events, by the rules of the canonical model; nothing where it is sound. */
export function faultsOf(events: readonly TextEvent[]): string[] {
  const faults: string[] = []
  const parts = new Map<string, 'open' | 'closed'>()
  const count = new Map<number, number>()
  const ended = new Set<number>()
  // The upstream may show that it is alive at any time.
  const told = events.filter(({ type }) => type !== 'ping')
  if (told[0]?.type !== 'start' && told[0]?.type !== 'error') faults.push('start is not first')
  for (const [i, event] of told.entries()) {
    if (event.type === 'start' && i > 0) faults.push('a second start')
    if (isTerminal(event) && event !== events.at(-1)) faults.push(`${event.type} is not last`)
    if (event.type === 'end') {
      if (ended.has(event.candidate)) faults.push('a second end')
      const open = [...parts].filter(([key, state]) => key.startsWith(`${event.candidate}.`) && state === 'open')
      if (open.length > 0) faults.push(`end before the end of ${open.map(([key]) => key)}`)
      ended.add(event.candidate)
    }
    if (!('index' in event)) continue
    const key = `${event.candidate}.${event.index}`
    if (ended.has(event.candidate)) faults.push(`${event.type} ${key} after the end`)
    if (event.type === 'part-start') {
      if (event.index !== (count.get(event.candidate) ?? 0)) faults.push(`index ${key} is not the next one`)
      count.set(event.candidate, event.index + 1)
      if (parts.has(key)) faults.push(`a second start of ${key}`)
      parts.set(key, 'open')
    } else {
      if (parts.get(key) !== 'open') faults.push(`${event.type} of ${key}, which is not open`)
      if (event.type === 'part-end') parts.set(key, 'closed')
    }
  }
  const last = events.at(-1)
  if (last === undefined || !isTerminal(last)) faults.push('no terminal')
  if (last?.type === 'finish') {
    for (const [key, state] of parts) if (state === 'open') faults.push(`finish while ${key} is open`)
    for (const candidate of count.keys())
      if (!ended.has(candidate)) faults.push(`finish without an end of ${candidate}`)
  }
  return faults
}

/** What matters of an answer: not ids, times and places that protocols make up. */
export interface Gist {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly { readonly name: string; readonly arguments: Json }[]
  readonly media: readonly string[]
  readonly reason: string
}

export function gistOf(result: TextResult): readonly Gist[] {
  return result.candidates.map(({ parts, end }) => ({
    text: join(parts, 'text'),
    reasoning: join(parts, 'reasoning'),
    refusal: join(parts, 'refusal'),
    calls: parts.flatMap(part =>
      part.type === 'call' ? [{ name: part.name, arguments: argumentsOf(part.arguments, part.custom) }] : [],
    ),
    media: parts.flatMap(part => (part.type === 'media' ? [JSON.stringify(part.source)] : [])),
    reason: end.reason,
  }))
}

function join(parts: readonly Part[], type: 'text' | 'reasoning' | 'refusal'): string {
  return parts.flatMap(part => (part.type === type ? [part.text] : [])).join('')
}

function argumentsOf(text: string, custom: true | undefined): Json {
  if (custom === true) return text
  if (text === '') return {}
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** Runs it; anything but a GatewayError is a fault of the codec. */
export function onlyGatewayErrors<T>(run: () => T): T | GatewayError {
  try {
    return run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** A document as the name of an assertion: in ASCII, which reporters of tests keep on one line. */
export function brief(value: unknown, length = 600): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).slice(0, length)
}
