import { PICTURE_TOKENS, picture } from '../../image/picture.js'
import type { Call } from '../../protocol.js'
import type { Seed } from '../../seed.js'
import type { CallPart, TextPart, TextReply, TextRequest } from '../../text/conversation.js'
import { lastUserText } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { logprobOf } from '../../text/tokens.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import type { ChatRequest } from './request.js'

/** What all answers to one request share, and the answers. */
export interface Completion {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly choices: readonly Choice[]
  /** Nothing where the tester wants none. */
  readonly usage: object | undefined
}

export interface Choice {
  readonly index: number
  readonly reply: TextReply
  readonly finish: string
  readonly calls: readonly ToolCall[]
  /** The tokens of the text; absent where there are only calls. */
  readonly text: readonly string[] | undefined
  readonly logprobs: readonly object[] | undefined
  /** The tokens of the reasoning, where it was asked for by name. */
  readonly reasoning: readonly string[] | undefined
  /** Why the model refuses, in tokens. */
  readonly refusal: readonly string[] | undefined
  readonly annotations: readonly object[]
  /** `data:` URLs of the images that were asked for. */
  readonly images: readonly object[]
}

export interface ToolCall {
  readonly id: string
  readonly part: CallPart
}

export const SYSTEM_FINGERPRINT = 'fp_simulator'
export const SERVICE_TIER = 'default'

/** Answers a request: the same content for the whole answer and for its stream. */
export function complete(request: ChatRequest, { seed, faults }: Call): Completion {
  const choices = Array.from({ length: request.n }, (_, index) => choiceOf(request, index))
  return {
    id: `chatcmpl-${seed.fork('id').letters(29)}`,
    created: seed.created(),
    model: request.model,
    choices,
    usage: spoiled(usageOf(request.text, choices), faults),
  }
}

const FINISHES = { stop: 'stop', length: 'length', refusal: 'stop', blocked: 'content_filter' } as const

function choiceOf(request: ChatRequest, index: number): Choice {
  const { text, logprobs, legacy, reasoned } = request
  const seed = text.seed.fork('choice', index)
  const reply = compose({ ...text, seed })
  const calls = reply.parts.flatMap((part, at) =>
    part.type === 'call' ? [{ id: `call_${seed.fork('call', at).letters(24)}`, part }] : [],
  )
  const spoken = reply.parts.find(part => part.type === 'text')
  const said = spoken?.tokens
  const refusal = reply.parts.find(part => part.type === 'refusal')?.tokens
  return {
    index,
    reply,
    calls,
    finish: reply.finish === 'calls' ? (legacy ? 'function_call' : 'tool_calls') : FINISHES[reply.finish],
    text: said ?? (calls.length === 0 && refusal === undefined ? [] : undefined),
    logprobs: logprobs === undefined ? undefined : said?.map((token, at) => logprobOf(token, at, logprobs, seed)),
    reasoning: reasoned ? reply.parts.find(part => part.type === 'reasoning')?.tokens : undefined,
    refusal,
    annotations: annotationsOf(spoken),
    images: drawn(request, reply, seed),
  }
}

function drawn({ text, image }: ChatRequest, { finish }: TextReply, seed: Seed): readonly object[] {
  if (image === undefined || finish !== 'stop') return []
  const base64 = picture(lastUserText(text.turns), image, seed.fork('image'))
  return [{ type: 'image_url', index: 0, image_url: { url: `data:image/png;base64,${base64}` } }]
}

function annotationsOf(part: TextPart | undefined): readonly object[] {
  if (part?.citation === undefined) return []
  const { end, url, title } = part.citation
  return [{ type: 'url_citation', url_citation: { start_index: 0, end_index: end, url, title } }]
}

function usageOf(text: TextRequest, choices: readonly Choice[]): object {
  const { input, audio } = promptTokens(text)
  const drawn = choices.reduce((sum, { images }) => sum + images.length, 0) * PICTURE_TOKENS
  const output = choices.reduce((sum, { reply }) => sum + reply.output, drawn)
  const reasoning = choices.reduce((sum, { reply }) => sum + reply.reasoning, 0)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: audio },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
