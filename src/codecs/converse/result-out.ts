import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type {
  CallPart,
  End,
  EndReason,
  MediaPart,
  Part,
  ReasoningPart,
  Seal,
  TextPart,
  TextResult,
  TextUsage,
} from '../../core/text.js'
import { borrowedSeal, type SealPlace } from '../borrowed-seal.js'
import { encodeCallId, inputOf } from '../messages/names.js'
import { MAX_CITATIONS } from '../quotes.js'
import { compact } from '../read.js'
import { wrapSeal } from '../seal.js'
import { encodeCitation } from './citations.js'
import { formatOf } from './formats.js'
import { PROTOCOL } from './media-in.js'
import { encodeRedacted } from './seals.js'

type Lose = AnswerContext['lose']

const WORDS: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  filter: 'content_filtered',
  refusal: 'content_filtered',
  pause: 'end_turn',
  context: 'model_context_window_exceeded',
  malformed: 'malformed_model_output',
  other: 'end_turn',
}

/** Clients go by `tool_use` to run tools, so an answer with calls that just stopped has that one. */
export function encodeEnd({ reason, stopSequence, detail }: End, calls: boolean, lose: Lose): string {
  if (reason === 'pause' || reason === 'other') {
    lose('stopReason', `the upstream ended with ${detail ?? 'a reason that this protocol cannot express'}`)
  }
  if (calls && (reason === 'stop' || reason === 'other')) return 'tool_use'
  return reason === 'stop' && stopSequence !== undefined ? 'stop_sequence' : WORDS[reason]
}

/** The protocol demands counts: 0 where they are not known. */
export function encodeUsage(usage: TextUsage | undefined): JsonObject {
  const { input = 0, output = 0, cached, cacheWrite } = usage ?? {}
  return compact({
    inputTokens: Math.max(0, input - (cached ?? 0) - (cacheWrite ?? 0)),
    outputTokens: output,
    totalTokens: usage?.total ?? input + output,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: cacheWrite,
  })
}

/** It demands this, too, and upstreams of other protocols do not tell. */
export const METRICS: JsonObject = { latencyMs: 0 }

/** The answer as a document. */
export function encodeResult({ candidates, usage, serviceTier }: TextResult, answer: AnswerContext): JsonObject {
  if (candidates.length > 1) answer.lose('candidates', 'a message is one answer')
  const { parts, end } = candidates[0] ?? { parts: [], end: { reason: 'other' as const } }
  const content = parts.flatMap(part => blocksOf(part, answer.lose))
  const calls = parts.some(({ type }) => type === 'call')
  return compact({
    output: { message: { role: 'assistant', content } },
    stopReason: encodeEnd(end, calls, answer.lose),
    usage: encodeUsage(usage),
    metrics: METRICS,
    serviceTier: serviceTier === undefined ? undefined : { type: serviceTier },
  })
}

function blocksOf(part: Part, lose: Lose): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return [...(part.text === '' ? [] : [textBlock(part, lose)]), ...sealBehind(part.seal, part.text === '')]
    case 'refusal':
      return [...(part.text === '' ? [] : [{ text: part.text }]), ...sealBehind(part.seal, part.text === '')]
    case 'reasoning':
      return thoughtBlocks(part, lose)
    case 'call':
      return [...(part.seal === undefined ? [] : [hiddenBlock(part.seal, 'next')]), callBlock(part, lose)]
    case 'media':
      return mediaBlocks(part, lose)
    default:
      return hostedBlocks(part, lose)
  }
}

/** Hidden thoughts that hold the seal of what is beside them. */
function hiddenBlock(seal: Seal, place: SealPlace): JsonObject {
  return { reasoningContent: { reasoningText: { text: '', signature: borrowedSeal(seal, place) } } }
}

/** Hidden thoughts behind a text with this seal. */
function sealBehind(seal: Seal | undefined, isEmpty: boolean): readonly JsonObject[] {
  return seal === undefined ? [] : [hiddenBlock(seal, isEmpty ? 'text' : 'prev')]
}

function textBlock({ text, citations }: TextPart, lose: Lose): JsonObject {
  if (citations === undefined || citations.length === 0) return { text }
  const taken = citations.slice(0, MAX_CITATIONS)
  const shown = taken.map(citation => encodeCitation(citation, text)).filter(one => one !== undefined)
  if (shown.length < citations.length) loseCitation(lose)
  return shown.length === 0 ? { text } : { citationsContent: { content: [{ text }], citations: shown } }
}

export function loseCitation(lose: Lose): void {
  lose('citations', 'this protocol cannot express a citation without a URL')
}

function thoughtBlocks(part: ReasoningPart, lose: Lose): readonly JsonObject[] {
  const { text, seal } = part
  if (part.redacted === true) {
    if (seal !== undefined) return [{ reasoningContent: { redactedContent: encodeRedacted(seal, part) } }]
    loseThought(lose)
    return []
  }
  if (text === '' && seal === undefined) return []
  const signature = seal === undefined ? undefined : wrapSeal(seal, PROTOCOL, part)
  return [{ reasoningContent: { reasoningText: compact({ text, signature }) } }]
}

export function loseThought(lose: Lose): void {
  lose('reasoning', 'thoughts that are hidden and not sealed have no content')
}

function callBlock({ id, name, arguments: text, custom }: CallPart, lose: Lose): JsonObject {
  const input = custom === true ? { input: text } : inputOf(text)
  if (input === undefined) lose('input', 'the arguments of the call are not a JSON object, so they are in _raw')
  return { toolUse: { toolUseId: encodeCallId(id), name, input: input ?? { _raw: text } } }
}

/** An image, or what is said in its place. */
function mediaBlocks(part: MediaPart, lose: Lose): readonly JsonObject[] {
  const image = imageOf(part)
  if (image !== undefined) return [{ image }]
  lose(part.kind, 'this protocol answers only in text and images')
  const { transcript } = part
  return transcript === undefined || transcript === '' ? [] : [{ text: transcript }]
}

/** `{format, source: {bytes}}`; undefined for other media. */
export function imageOf({ kind, mime, source }: MediaPart): JsonObject | undefined {
  const format = kind === 'image' ? formatOf('image', mime ?? 'image/png') : undefined
  return format !== undefined && 'base64' in source ? { format, source: { bytes: source.base64 } } : undefined
}

/** Blocks of what only this protocol has in answers. */
export function hostedBlocks(part: Part, lose: Lose): readonly JsonObject[] {
  if (part.type !== 'hosted') return []
  if (part.of === PROTOCOL) return [part.value]
  lose('hosted', 'the trace of a tool that ran at the upstream exists only in its own protocol')
  return []
}
