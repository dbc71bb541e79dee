import type { AnswerContext, Frame } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, Citation, Part, ReasoningPart, Seal, TextEvent, TokenLogprob } from '../../core/text.js'
import { extraOf, isProof, sealingDetail } from './reasoning.js'
import { writeAnnotation, writeEnd, writeLogprobs } from './result-in.js'
import { isLegacy, loseCalls, loseCitation, losePart, writeAudio, writeImage } from './result-out.js'

/** What all chunks of a stream have in common: all before the choices, and all behind them. */
export interface ChunkHead {
  readonly chunk: string
  readonly tail: string
}

type ChoiceEvent = Extract<TextEvent, { readonly candidate: number }>
type Start = Extract<TextEvent, { readonly type: 'part-start' }>
type Delta = Extract<TextEvent, { readonly type: 'part-delta' }>

/** A part on its way out: where its text goes, and what is known of it. */
class OpenPart {
  readonly part: Part
  /** Place among the calls of the choice; -1 for what is not one, or what is not shown. */
  readonly call: number
  /** Characters of the choice's text before this part. */
  readonly before: number
  length = 0
  /** Where a thought begins in the text of all thoughts. */
  start = 0
  /** Citations of the whole text, sent when its length is known. */
  readonly waiting: Citation[] = []

  constructor(part: Part, call: number, before: number) {
    this.part = part
    this.call = call
    this.before = before
  }
}

const NOTHING: readonly Frame[] = []

/** One choice of a stream. Prefixes of its chunks are made once; a delta costs one `JSON.stringify` of its text. */
export class ChoiceEncoder {
  readonly #answer: AnswerContext
  readonly #legacy: boolean
  readonly #prefix: string
  readonly #suffix: string
  readonly #tail: string
  readonly #parts: (OpenPart | undefined)[] = []
  #begun = false
  #calls = 0
  #length = 0
  #refused = false
  /** Whether the next thought is another than the one that was shown last. */
  #thought: 'none' | 'open' | 'closed' = 'none'
  /** Characters of all thoughts so far, and entries that sealed some. */
  #thoughts = 0
  #sealed = 0

  constructor(index: number, head: ChunkHead, answer: AnswerContext) {
    this.#answer = answer
    this.#legacy = isLegacy(answer)
    this.#prefix = `${head.chunk}{"index":${index},"delta":{`
    this.#suffix = `},"finish_reason":null}]${head.tail}`
    this.#tail = head.tail
  }

  /** The chunk that tells the role. */
  begin(): readonly Frame[] {
    if (this.#begun) return NOTHING
    this.#begun = true
    return [this.chunk('"role":"assistant","content":null,"refusal":null')]
  }

  push(event: ChoiceEvent): readonly Frame[] {
    if (this.#begun) return this.write(event)
    return [...this.begin(), ...this.write(event)]
  }

  private write(event: ChoiceEvent): readonly Frame[] {
    switch (event.type) {
      case 'part-delta': {
        const open = this.#parts[event.index]
        return open === undefined ? NOTHING : this.delta(open, event)
      }
      case 'part-start':
        return this.start(event)
      case 'part-citation': {
        const open = this.#parts[event.index]
        if (open === undefined) return NOTHING
        if (event.citation.end !== undefined && open.waiting.length === 0) return this.cite(open, event.citation)
        open.waiting.push(event.citation)
        return NOTHING
      }
      case 'part-end': {
        const open = this.#parts[event.index]
        this.#parts[event.index] = undefined
        return open === undefined ? NOTHING : this.end(open, event.seal ?? open.part.seal)
      }
      case 'end': {
        const reason = writeEnd(event.end, this.#refused, this.#answer.lose)
        const word = this.#legacy && reason === 'tool_calls' ? 'function_call' : reason
        return [{ data: `${this.#prefix}},"finish_reason":"${word}"}]${this.#tail}` }]
      }
    }
  }

  private start({ index, part }: Start): readonly Frame[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
      case 'refusal': {
        const open = new OpenPart(part, -1, this.#length)
        this.#parts[index] = open
        return part.text === '' ? NOTHING : this.say(open, part.text, undefined)
      }
      case 'call':
        return this.startCall(index, part)
      case 'media':
        if (part.kind === 'audio') return [this.chunk(`"audio":${JSON.stringify(writeAudio(part, this.#answer))}`)]
        if (part.kind === 'image') return [this.chunk(`"images":[${JSON.stringify(writeImage(part))}]`)]
        losePart(part, this.#answer)
        return NOTHING
      default:
        losePart(part, this.#answer)
        return NOTHING
    }
  }

  private startCall(index: number, part: CallPart): readonly Frame[] {
    const shown = !this.#legacy || this.#calls === 0
    const open = new OpenPart(part, shown ? this.#calls++ : -1, 0)
    this.#parts[index] = open
    if (!shown) {
      loseCalls(this.#answer)
      return NOTHING
    }
    open.length = part.arguments.length
    const name = JSON.stringify(part.name)
    const text = JSON.stringify(part.arguments)
    if (this.#legacy) return [this.chunk(`"function_call":{"name":${name},"arguments":${text}}`)]
    const called =
      part.custom === true
        ? `"type":"custom","custom":{"name":${name},"input":${text}}`
        : `"type":"function","function":{"name":${name},"arguments":${text}}`
    return [this.chunk(`"tool_calls":[{"index":${open.call},"id":${JSON.stringify(part.id)},${called}}]`)]
  }

  private delta(open: OpenPart, event: Delta): readonly Frame[] {
    const { text } = event
    if (open.part.type !== 'call') {
      return text === '' && event.logprobs === undefined ? NOTHING : this.say(open, text, event.logprobs)
    }
    if (text === '' || open.call < 0) return NOTHING
    open.length += text.length
    return [this.chunk(this.fragment(open, JSON.stringify(text)))]
  }

  private fragment(open: OpenPart, text: string): string {
    if (this.#legacy) return `"function_call":{"arguments":${text}}`
    const custom = open.part.type === 'call' && open.part.custom === true
    return custom
      ? `"tool_calls":[{"index":${open.call},"custom":{"input":${text}}}]`
      : `"tool_calls":[{"index":${open.call},"function":{"arguments":${text}}}]`
  }

  private say(open: OpenPart, text: string, logprobs: readonly TokenLogprob[] | undefined): readonly Frame[] {
    open.length += text.length
    switch (open.part.type) {
      case 'text':
        this.#length += text.length
        if (logprobs === undefined) return [this.chunk(`"content":${JSON.stringify(text)}`)]
        return [this.chunkWithLogprobs(text, logprobs)]
      case 'reasoning': {
        // Thoughts are one text here: a blank line separates two of them.
        const gap = this.#thought === 'closed' ? '\n\n' : ''
        this.#thought = 'open'
        if (open.length === text.length) open.start = this.#thoughts + gap.length
        this.#thoughts += gap.length + text.length
        return [this.chunk(`"reasoning_content":${JSON.stringify(gap + text)}`)]
      }
      default:
        this.#refused = true
        return [this.chunk(`"refusal":${JSON.stringify(text)}`)]
    }
  }

  private chunkWithLogprobs(text: string, logprobs: readonly TokenLogprob[]): Frame {
    const written = JSON.stringify(writeLogprobs(logprobs))
    const content = JSON.stringify(text)
    return { data: `${this.#prefix}"content":${content}},"logprobs":${written},"finish_reason":null}]${this.#tail}` }
  }

  private cite(open: OpenPart, citation: Citation): readonly Frame[] {
    const annotation = writeAnnotation(citation, open.before, open.length)
    if (annotation !== undefined) return [this.chunk(`"annotations":[${jsonText(annotation)}]`)]
    loseCitation(this.#answer)
    return NOTHING
  }

  private end(open: OpenPart, seal: Seal | undefined): readonly Frame[] {
    const { part } = open
    switch (part.type) {
      case 'call':
        return this.endCall(open, part, seal)
      case 'reasoning':
        return this.endThought(open, seal === undefined ? part : { ...part, seal })
      case 'text': {
        const frames = open.waiting.flatMap(citation => this.cite(open, citation))
        if (seal !== undefined) frames.push(this.chunk(`"extra_content":${jsonText(extraOf(seal))}`))
        return frames
      }
      default:
        return NOTHING
    }
  }

  private endCall(open: OpenPart, part: CallPart, seal: Seal | undefined): readonly Frame[] {
    if (open.call < 0) return NOTHING
    const frames: Frame[] = []
    // A function without arguments is called with an empty object.
    if (open.length === 0 && part.custom !== true) frames.push(this.chunk(this.fragment(open, '"{}"')))
    if (seal !== undefined && !this.#legacy) {
      const extra: JsonObject = extraOf(seal)
      frames.push(
        this.chunk(
          `"tool_calls":[{"index":${open.call},"function":{"arguments":""},"extra_content":${jsonText(extra)}}]`,
        ),
      )
    }
    return frames
  }

  private endThought(open: OpenPart, part: ReasoningPart): readonly Frame[] {
    const sealed = part.seal !== undefined && isProof(part.seal)
    // Behind a sealed thought nothing is put between, so that the text of the next one is what its seal is for.
    if (this.#thought === 'open') this.#thought = sealed ? 'none' : 'closed'
    if (!sealed) return NOTHING
    const { start, length } = open
    const detail = sealingDetail(part, { start, end: start + length }, this.#sealed++)
    return [this.chunk(`"reasoning_details":[${jsonText(detail)}]`)]
  }

  private chunk(delta: string): Frame {
    return { data: this.#prefix + delta + this.#suffix }
  }
}
