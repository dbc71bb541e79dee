import type {
  Candidate,
  Citation,
  End,
  Part,
  Seal,
  TextEvent,
  TextResult,
  TextUsage,
  TokenLogprob,
} from '../core/text.js'

/** Largest index of a part or a candidate that is taken. */
const MAX_INDEX = 100_000

/** Adds up an answer that came as events. A stream that ends with an error throws that error. */
export class Fold {
  #id = ''
  #model = ''
  #created: number | undefined
  #usage: TextUsage | undefined
  #serviceTier: string | undefined
  readonly #candidates: { parts: Growing[]; end: End | undefined }[] = []

  push(event: TextEvent): void {
    switch (event.type) {
      case 'start':
        this.#id = event.id
        this.#model = event.model
        this.#created = event.created
        this.#usage = event.usage
        break
      case 'part-start':
        this.candidate(event.candidate).parts[bounded(event.index)] = new Growing(event.part)
        break
      case 'part-delta':
        this.part(event)?.grow(event.text, event.logprobs)
        break
      case 'part-citation':
        this.part(event)?.cite(event.citation)
        break
      case 'part-end':
        this.part(event)?.close(event.seal)
        break
      case 'end':
        this.candidate(event.candidate).end = event.end
        break
      case 'ping':
        break
      case 'finish':
        this.#usage = event.usage ?? this.#usage
        this.#serviceTier = event.serviceTier
        break
      case 'error':
        throw event.error
    }
  }

  result(): TextResult {
    const candidates: Candidate[] = this.#candidates.map(({ parts, end }) => ({
      parts: parts.filter(part => part !== undefined).map(part => part.part()),
      end: end ?? { reason: 'other' },
    }))
    return {
      id: this.#id,
      model: this.#model,
      candidates: candidates.length > 0 ? candidates : [{ parts: [], end: { reason: 'other' } }],
      ...(this.#created !== undefined && { created: this.#created }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...(this.#serviceTier !== undefined && { serviceTier: this.#serviceTier }),
    }
  }

  private candidate(index: number): { parts: Growing[]; end: End | undefined } {
    while (this.#candidates.length <= bounded(index)) this.#candidates.push({ parts: [], end: undefined })
    const candidate = this.#candidates[index]
    if (candidate === undefined) throw new RangeError('an index is out of bounds')
    return candidate
  }

  private part({ candidate, index }: { readonly candidate: number; readonly index: number }): Growing | undefined {
    return this.#candidates[candidate]?.parts[index]
  }
}

function bounded(index: number): number {
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX) throw new RangeError('an index is out of bounds')
  return index
}

/** A part while its text comes. */
class Growing {
  #part: Part
  readonly #pieces: string[] = []
  readonly #citations: Citation[] = []
  readonly #logprobs: TokenLogprob[] = []

  constructor(part: Part) {
    this.#part = part
  }

  grow(text: string, logprobs: readonly TokenLogprob[] | undefined): void {
    this.#pieces.push(text)
    if (logprobs !== undefined) for (const one of logprobs) this.#logprobs.push(one)
  }

  cite(citation: Citation): void {
    this.#citations.push(citation)
  }

  close(seal: Seal | undefined): void {
    if (seal !== undefined) this.#part = { ...this.#part, seal }
  }

  part(): Part {
    const part = this.#part
    const more = this.#pieces.join('')
    switch (part.type) {
      case 'text':
        return {
          ...part,
          text: part.text + more,
          ...(this.#citations.length > 0 && { citations: [...(part.citations ?? []), ...this.#citations] }),
          ...(this.#logprobs.length > 0 && { logprobs: [...(part.logprobs ?? []), ...this.#logprobs] }),
        }
      case 'reasoning':
      case 'refusal':
        return { ...part, text: part.text + more }
      case 'call':
        return { ...part, arguments: part.arguments + more }
      default:
        return part
    }
  }
}

export function fold(events: Iterable<TextEvent>): TextResult {
  const sum = new Fold()
  for (const event of events) sum.push(event)
  return sum.result()
}

/** A whole answer as the events of a stream: each part starts empty, grows once and ends. */
export function unfold(result: TextResult): TextEvent[] {
  const { id, model, created, usage, serviceTier } = result
  const events: TextEvent[] = [{ type: 'start', id, model, ...(created !== undefined && { created }) }]
  for (const [candidate, { parts, end }] of result.candidates.entries()) {
    for (const [index, part] of parts.entries()) events.push(...unfoldPart(candidate, index, part))
    events.push({ type: 'end', candidate, end })
  }
  events.push({
    type: 'finish',
    ...(usage !== undefined && { usage }),
    ...(serviceTier !== undefined && { serviceTier }),
  })
  return events
}

function unfoldPart(candidate: number, index: number, part: Part): TextEvent[] {
  const place = { candidate, index }
  const { seal, ...unsealed } = part
  const end: TextEvent = { type: 'part-end', ...place, ...(seal !== undefined && { seal }) }
  switch (unsealed.type) {
    case 'text': {
      const { citations = [], logprobs, ...bare } = unsealed
      const events: TextEvent[] = [{ type: 'part-start', ...place, part: { ...bare, text: '' } }]
      if (bare.text !== '') {
        events.push({ type: 'part-delta', ...place, text: bare.text, ...(logprobs !== undefined && { logprobs }) })
      }
      for (const citation of citations) events.push({ type: 'part-citation', ...place, citation })
      return [...events, end]
    }
    case 'reasoning':
    case 'refusal':
      return [
        { type: 'part-start', ...place, part: { ...unsealed, text: '' } },
        ...(unsealed.text === '' ? [] : [{ type: 'part-delta' as const, ...place, text: unsealed.text }]),
        end,
      ]
    case 'call':
      return [
        { type: 'part-start', ...place, part: { ...unsealed, arguments: '' } },
        ...(unsealed.arguments === '' ? [] : [{ type: 'part-delta' as const, ...place, text: unsealed.arguments }]),
        end,
      ]
    default:
      return [{ type: 'part-start', ...place, part: unsealed }, end]
  }
}
