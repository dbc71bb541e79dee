import type { AnswerContext } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Candidate, End, Part, TextResult, TextUsage, TokenLogprob } from '../../core/text.js'
import { mediaData } from '../native-media.js'
import { callOut, PROTOCOL, signatureOf, signed, textOut, thoughtOut, type WirePart } from './calls.js'
import { logprobsOut } from './candidate-in.js'
import { Grounding } from './citations.js'
import { endOut } from './ends.js'

import { usageOut } from './usage.js'

type Lose = AnswerContext['lose']

/** The answer of `generateContent`. */
export function encodeResult(result: TextResult, answer: AnswerContext): JsonObject {
  const out: Record<string, Json> = {
    candidates: result.candidates.map((candidate, index) => candidateOut(candidate, index, answer.lose)),
  }
  if (result.usage !== undefined) {
    loseCacheWrite(result.usage, answer.lose)
    out.usageMetadata = usageOut(result.usage, result.serviceTier)
  }
  out.modelVersion = result.model === '' ? answer.request.model : result.model
  out.responseId = result.id === '' ? answer.newId('') : result.id
  return out
}

function candidateOut({ parts, end }: Candidate, index: number, lose: Lose): JsonObject {
  const wire: WirePart[] = []
  const grounding = new Grounding()
  const logprobs: TokenLogprob[] = []
  for (const [place, part] of parts.entries()) {
    const made = partOut(part, lose)
    if (made !== undefined) wire.push(made)
    if (part.type === 'text' || part.type === 'refusal') grounding.text(place, part.text)
    if (part.type !== 'text') continue
    for (const citation of part.citations ?? []) if (!grounding.cite(place, citation)) loseCitation(lose)
    for (const one of part.logprobs ?? []) logprobs.push(one)
  }
  loseEnd(end, lose)
  const groundingMetadata = grounding.metadata()
  return {
    content: { parts: wire, role: 'model' },
    ...endOut(
      end,
      parts.some(({ type }) => type === 'refusal'),
    ),
    index,
    ...(groundingMetadata !== undefined && { groundingMetadata }),
    ...(logprobs.length > 0 && { logprobsResult: logprobsOut(logprobs) }),
  }
}

export function loseEnd({ reason, stopSequence }: End, lose: Lose): void {
  if (stopSequence !== undefined) lose('stop_sequence', 'the protocol does not say which stop sequence was met')
  if (reason === 'pause') lose('finish reason', 'the protocol does not distinguish a pause from an end')
  if (reason === 'context')
    lose('finish reason', 'the protocol does not distinguish a full context window from a limit')
}

export function loseCitation(lose: Lose): void {
  lose('citations', 'a source has no URL, title or text here')
}

export function loseCacheWrite({ cacheWrite = 0 }: TextUsage, lose: Lose): void {
  if (cacheWrite > 0) lose('cache_write_tokens', 'the protocol does not count what is written to a cache')
}

/** A whole part of an answer; undefined where there is nothing to say, or no way to. */
export function partOut(part: Part, lose: Lose): WirePart | undefined {
  const shape = part.type === 'reasoning' ? part : {}
  const signature = part.seal === undefined ? undefined : signatureOf(part.seal, shape)
  switch (part.type) {
    case 'text':
      return part.text === '' && signature === undefined ? undefined : textOut(part.text, signature)
    case 'refusal':
      return part.text === '' ? undefined : textOut(part.text)
    case 'reasoning':
      return part.text === '' && signature === undefined ? undefined : thoughtOut(part.text, signature)
    case 'call':
      return signed({ functionCall: callOut(part) }, signature)
    case 'media': {
      const data = mediaData(part)
      if (data === undefined) lose('media', 'a file id of another protocol cannot be used here')
      return data === undefined ? undefined : signed(data, signature)
    }
    case 'hosted':
      if (part.of === PROTOCOL) return signed({ ...part.value }, signature)
      lose('hosted_tools', 'traces of tools that ran at upstreams of another protocol cannot be expressed here')
      return undefined
    case 'result':
      lose('tool_results', 'answers cannot contain tool results')
      return undefined
  }
}
