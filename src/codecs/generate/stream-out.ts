import type { AnswerContext, Frame, StreamEncoder } from '../../core/codec.js'
import { errorBody } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { End, Part, Seal, TextEvent, TextUsage } from '../../core/text.js'
import { signatureOf, textOut, thoughtOut, type WirePart } from './calls.js'
import { logprobsOut } from './candidate-in.js'
import { Grounding } from './citations.js'
import { endOut } from './ends.js'
import { loseCacheWrite, loseCitation, loseEnd, partOut } from './result-out.js'

import { usageOut } from './usage.js'

/** Most characters of arguments that are gathered at a time. */
const MAX_GATHERED_CHARS = 16 * 1024 * 1024

type Event<T extends TextEvent['type']> = Extract<TextEvent, { readonly type: T }>

/**
 * A part that goes out when it is whole: a call, media, what a hosted tool did. Those that were open together go out in
 * the order in which they began.
 */
interface Gathering {
  readonly part: Part
  readonly pieces: string[]
  ended: boolean
  seal: Seal | undefined
}

interface Candidate {
  /** Text before and behind the JSON of a text, in a document that brings more of it. */
  readonly head: string
  readonly tail: string
  readonly gathering: Map<number, Gathering>
  /** Open parts that grow unchanged. */
  readonly open: Map<number, Part>
  readonly grounding: Grounding
  end: End | undefined
  refused: boolean
}

/**
 * An answer as the documents of `streamGenerateContent`: each brings what is new, calls come whole, and the last says how
 * every candidate ended and what was used. Nothing is behind it, and nothing stands for a ping.
 */
export class StreamOut implements StreamEncoder {
  readonly #answer: AnswerContext
  readonly #candidates = new Map<number, Candidate>()
  /** What every document ends with. */
  #rest: JsonObject | undefined
  #gathered = 0
  #over = false

  constructor(answer: AnswerContext) {
    this.#answer = answer
  }

  push(event: TextEvent): readonly Frame[] {
    if (this.#over) return []
    switch (event.type) {
      case 'start':
        this.begin(event.id, event.model)
        return []
      case 'part-start':
        return this.start(event)
      case 'part-delta':
        return this.delta(event)
      case 'part-citation':
        if (!this.candidate(event.candidate).grounding.cite(event.index, event.citation))
          loseCitation(this.#answer.lose)
        return []
      case 'part-end':
        return this.close(event)
      case 'end':
        this.candidate(event.candidate).end = event.end
        loseEnd(event.end, this.#answer.lose)
        return []
      case 'ping':
        return []
      case 'finish':
        this.#over = true
        return [this.last(event.usage, event.serviceTier)]
      case 'error':
        this.#over = true
        return [{ data: JSON.stringify(errorBody(event.error, 'native', '')) }]
    }
  }

  private begin(id: string, model: string): JsonObject {
    this.#rest = {
      modelVersion: model === '' ? this.#answer.request.model : model,
      responseId: id === '' ? this.#answer.newId('') : id,
    }
    return this.#rest
  }

  private rest(): JsonObject {
    return this.#rest ?? this.begin('', '')
  }

  private candidate(index: number): Candidate {
    let candidate = this.#candidates.get(index)
    if (candidate === undefined) {
      candidate = {
        head: '{"candidates":[{"content":{"parts":[{"text":',
        tail: `}],"role":"model"},"index":${index}}],${JSON.stringify(this.rest()).slice(1)}`,
        gathering: new Map(),
        open: new Map(),
        grounding: new Grounding(),
        end: undefined,
        refused: false,
      }
      this.#candidates.set(index, candidate)
    }
    return candidate
  }

  private start({ candidate: of, index, part }: Event<'part-start'>): readonly Frame[] {
    const candidate = this.candidate(of)
    const kind =
      part.type === 'reasoning' ? 'reasoning' : part.type === 'text' || part.type === 'refusal' ? 'text' : undefined
    if (kind === undefined) {
      candidate.gathering.set(index, { part, pieces: [], ended: false, seal: undefined })
      return []
    }
    candidate.open.set(index, part)
    candidate.refused ||= part.type === 'refusal'
    const text = 'text' in part ? part.text : ''
    return text === '' ? [] : [this.text(candidate, index, kind, text)]
  }

  private delta({ candidate: of, index, text, logprobs }: Event<'part-delta'>): readonly Frame[] {
    const candidate = this.candidate(of)
    const open = candidate.open.get(index)
    if (open === undefined) {
      this.gather(candidate.gathering.get(index), text)
      return []
    }
    const kind = open.type === 'reasoning' ? 'reasoning' : 'text'
    if (logprobs !== undefined && kind === 'text') {
      candidate.grounding.text(index, text)
      return [this.document([{ ...contentOf(of, [{ text }]), logprobsResult: logprobsOut(logprobs) }])]
    }
    return text === '' ? [] : [this.text(candidate, index, kind, text)]
  }

  private text(candidate: Candidate, index: number, kind: 'text' | 'reasoning', text: string): Frame {
    if (kind === 'reasoning')
      return { data: `${candidate.head}${JSON.stringify(text)},"thought":true${candidate.tail}` }
    candidate.grounding.text(index, text)
    return { data: candidate.head + JSON.stringify(text) + candidate.tail }
  }

  private gather(gathering: Gathering | undefined, text: string): void {
    if (gathering === undefined || text === '') return
    this.#gathered += text.length
    if (this.#gathered > MAX_GATHERED_CHARS) {
      throw new GatewayError('bad_upstream_response', 'The upstream sent call arguments that are too long.')
    }
    gathering.pieces.push(text)
  }

  private close({ candidate: of, index, seal }: Event<'part-end'>): readonly Frame[] {
    const candidate = this.candidate(of)
    const open = candidate.open.get(index)
    if (open !== undefined) {
      candidate.open.delete(index)
      return seal === undefined ? [] : [this.document([contentOf(of, [sealedOut(open, seal)])])]
    }
    const gathering = candidate.gathering.get(index)
    if (gathering === undefined) return []
    gathering.ended = true
    gathering.seal = seal
    return this.ended(of, candidate)
  }

  /** The parts that are whole, up to the first that is still open. */
  private ended(of: number, { gathering }: Candidate): readonly Frame[] {
    const frames: Frame[] = []
    for (const [index, each] of gathering) {
      if (!each.ended) break
      gathering.delete(index)
      for (const { length } of each.pieces) this.#gathered -= length
      const part = partOut(wholeOf(each), this.#answer.lose)
      if (part !== undefined) frames.push(this.document([contentOf(of, [part])]))
    }
    return frames
  }

  /** A candidate that no one spoke of is one that ended with nothing. */
  private last(usage: TextUsage | undefined, tier: string | undefined): Frame {
    if (this.#candidates.size === 0) this.candidate(0)
    const candidates = [...this.#candidates]
      .sort(([a], [b]) => a - b)
      .map(([index, { end, grounding, refused }]) => {
        const groundingMetadata = grounding.metadata()
        const { finishReason, ...message } = endOut(end ?? { reason: 'other' }, refused)
        return {
          content: { parts: [{ text: '' }], role: 'model' },
          finishReason,
          ...message,
          index,
          ...(groundingMetadata !== undefined && { groundingMetadata }),
        }
      })
    if (usage === undefined) return this.document(candidates)
    loseCacheWrite(usage, this.#answer.lose)
    return this.document(candidates, { usageMetadata: usageOut(usage, tier) })
  }

  private document(candidates: readonly JsonObject[], more: JsonObject = {}): Frame {
    return { data: jsonText({ candidates, ...more, ...this.rest() }) }
  }
}

function contentOf(index: number, parts: readonly WirePart[]): Record<string, Json> {
  return { content: { parts, role: 'model' }, index }
}

/** A seal that became known at the end of a text rides on an empty one of its kind. */
function sealedOut(part: Part, seal: Seal): WirePart {
  return part.type === 'reasoning' ? thoughtOut('', signatureOf(seal, part)) : textOut('', signatureOf(seal))
}

function wholeOf({ part, pieces, seal }: Gathering): Part {
  const sealed = seal === undefined ? part : { ...part, seal }
  return sealed.type === 'call' ? { ...sealed, arguments: sealed.arguments + pieces.join('') } : sealed
}
