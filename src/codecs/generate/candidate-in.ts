import type { Json, JsonObject } from '../../core/json.js'
import type { End, Part, Seal, TextEvent, TokenLogprob } from '../../core/text.js'
import { fileMedia, inlineMedia } from '../native-media.js'
import { arrayOf, badUpstream, isBounded, numberOf, objectOf, stringOf } from '../read.js'

import { ByteMap } from './byte-map.js'
import { callIn, PROTOCOL } from './calls.js'
import { citationsIn } from './citations.js'
import { endIn } from './ends.js'
import { PartialArgs } from './partial-args.js'
import { unsealed } from './parts-in.js'

/** `logprobsResult`: the chosen tokens, and beside each the likeliest. Undefined where there are none. */
function logprobsIn(result: Json | undefined): TokenLogprob[] | undefined {
  const chosen = arrayOf(objectOf(result)?.chosenCandidates)
  if (chosen.length === 0) return undefined
  const top = arrayOf(objectOf(result)?.topCandidates)
  return chosen.flatMap((each, i) => {
    const token = tokenIn(each)
    if (token === undefined) return []
    const beside = arrayOf(objectOf(top[i])?.candidates).flatMap(one => tokenIn(one) ?? [])
    return [beside.length > 0 ? { ...token, top: beside } : token]
  })
}

function tokenIn(value: Json): { readonly token: string; readonly logprob: number } | undefined {
  const candidate = objectOf(value)
  const token = stringOf(candidate?.token)
  // The default of a number is left out on this wire.
  return token === undefined ? undefined : { token, logprob: numberOf(candidate?.logProbability) ?? 0 }
}

export function logprobsOut(logprobs: readonly TokenLogprob[]): JsonObject {
  const chosenCandidates = logprobs.map(tokenOut)
  if (!logprobs.some(({ top }) => top !== undefined && top.length > 0)) return { chosenCandidates }
  return { chosenCandidates, topCandidates: logprobs.map(({ top }) => ({ candidates: (top ?? []).map(tokenOut) })) }
}

function tokenOut({ token, logprob }: { readonly token: string; readonly logprob: number }): JsonObject {
  return { token, logProbability: logprob }
}

/** Most parts of one candidate. */
const MAX_PARTS = 50_000

/**
 * One candidate of an answer, as its documents come. Each brings new parts: texts of one kind that follow each other are
 * one part that grows, until a signature seals it or something else begins. The open part is `text`, `reasoning`, or a
 * `call` whose arguments come in pieces.
 */
export class CandidateIn {
  readonly #candidate: number
  /** The id of a call, by what the upstream calls it. */
  readonly #callId: (given: string | undefined) => string
  #open: 'none' | 'text' | 'reasoning' | 'call' = 'none'
  /** Index of the open part, or of the last one. */
  #index = -1
  /** What sealed the open part: it takes no more, and ends with the document. */
  #seal: Seal | undefined
  #called = false
  #end: End | undefined
  /** Name and arguments of the open call, unchanged. */
  #name = ''
  #pieces: PartialArgs | undefined
  /** All the text there was, thoughts apart, and where in it each text part begins. */
  readonly #map = new ByteMap()
  #chars = 0
  readonly #texts: { readonly index: number; readonly start: number }[] = []
  readonly #cited = new Set<string>()
  #logprobs: TokenLogprob[] | undefined

  constructor(candidate: number, callId: (given: string | undefined) => string) {
    this.#candidate = candidate
    this.#callId = callId
  }

  /** How it ended; undefined while it has not. */
  get end(): End | undefined {
    return this.#end
  }

  get called(): boolean {
    return this.#called
  }

  /** Takes the candidate of one document. `whole`: no other comes. */
  push(value: JsonObject, whole: boolean, out: TextEvent[]): void {
    if (value.logprobsResult !== undefined) this.#logprobs = logprobsIn(value.logprobsResult)
    const parts = objectOf(value.content)?.parts
    if (Array.isArray(parts)) for (const part of parts as readonly Json[]) this.part(part, out)
    if (this.#logprobs !== undefined && this.#open === 'text') this.grow('', out)
    if (value.groundingMetadata !== undefined || value.citationMetadata !== undefined) this.cite(value, whole, out)
    const end = endIn(value.finishReason, value.finishMessage, this.#called)
    if (end !== undefined) this.#end = end
    if (end !== undefined || (this.#seal !== undefined && this.#open !== 'call')) this.close(out)
  }

  /** Ends the part at hand. */
  close(out: TextEvent[]): void {
    if (this.#open === 'none') return
    if (this.#pieces !== undefined) this.grow(callIn('', this.#name, this.#pieces.args).arguments, out)
    this.#pieces = undefined
    const candidate = this.#candidate
    const index = this.#index
    if (this.#seal === undefined) out.push({ type: 'part-end', candidate, index })
    else out.push({ type: 'part-end', candidate, index, seal: this.#seal })
    this.#open = 'none'
    this.#seal = undefined
  }

  private part(value: Json, out: TextEvent[]): void {
    const part = objectOf(value)
    if (part === undefined) throw badUpstream('A part is not an object.')
    const signature = part.thoughtSignature
    const seal = typeof signature === 'string' && signature !== '' ? { by: PROTOCOL, value: signature } : undefined
    if (typeof part.text === 'string') {
      this.text(part.thought === true ? 'reasoning' : 'text', part.text, seal, out)
      return
    }
    if (!isBounded(part)) throw badUpstream('A part is nested too deep.')
    if (part.functionCall !== undefined) this.call(objectOf(part.functionCall) ?? {}, seal, out)
    else this.other(part, seal, out)
  }

  private text(kind: 'text' | 'reasoning', text: string, seal: Seal | undefined, out: TextEvent[]): void {
    if (text === '' && seal === undefined) return
    if (this.#open !== kind || this.#seal !== undefined) {
      const part: Part = kind === 'text' ? { type: 'text', text: '' } : { type: 'reasoning', text: '', summary: true }
      this.start(kind, part, out)
      if (kind === 'text') this.#texts.push({ index: this.#index, start: this.#chars })
    }
    if (text !== '') {
      if (kind === 'text') {
        this.#map.add(text)
        this.#chars += text.length
      }
      this.#end = undefined
      this.grow(text, out)
    }
    this.#seal = seal
  }

  private grow(text: string, out: TextEvent[]): void {
    const candidate = this.#candidate
    const index = this.#index
    if (this.#logprobs !== undefined && this.#open === 'text') {
      out.push({ type: 'part-delta', candidate, index, text, logprobs: this.#logprobs })
      this.#logprobs = undefined
    } else out.push({ type: 'part-delta', candidate, index, text })
  }

  /** A call arrives whole, or first with its name and then its arguments in pieces; the last piece is empty. */
  private call(call: JsonObject, seal: Seal | undefined, out: TextEvent[]): void {
    const name = stringOf(call.name) ?? ''
    if (name !== '') this.startCall(name, call, out)
    else if (this.#open !== 'call') throw badUpstream('A call names no function.')
    this.#seal ??= seal
    const isPiece = call.partialArgs !== undefined || call.willContinue === true || this.#pieces !== undefined
    if (isPiece) {
      this.#pieces ??= new PartialArgs()
      this.#pieces.add(call)
    } else this.grow(callIn('', this.#name, objectOf(call.args) ?? {}).arguments, out)
    if (call.willContinue !== true) this.close(out)
  }

  private startCall(name: string, call: JsonObject, out: TextEvent[]): void {
    this.close(out)
    const part = callIn(this.#callId(stringOf(call.id)), name, {})
    this.start('call', { ...part, arguments: '' }, out)
    this.#name = name
    this.#called = true
  }

  private other(part: JsonObject, seal: Seal | undefined, out: TextEvent[]): void {
    const [first] = Object.keys(part)
    if (first === undefined) return
    const known = otherPart(part)
    if (known === undefined) {
      if (seal !== undefined) this.text('text', '', seal, out)
      return
    }
    this.start('none', seal === undefined ? known : { ...known, seal }, out)
    out.push({ type: 'part-end', candidate: this.#candidate, index: this.#index })
  }

  private start(kind: 'none' | 'text' | 'reasoning' | 'call', part: Part, out: TextEvent[]): void {
    this.close(out)
    if (this.#index >= MAX_PARTS) throw badUpstream('There are too many parts.')
    this.#open = kind
    this.#index++
    this.#end = undefined
    out.push({ type: 'part-start', candidate: this.#candidate, index: this.#index, part })
  }

  /**
   * Adds citations to the text that they are about. In a stream, that part may have ended already: then the source is added
   * to the current text, without the position.
   */
  private cite(value: JsonObject, whole: boolean, out: TextEvent[]): void {
    const citations = citationsIn(value, this.#map).map(citation => ({ citation, key: JSON.stringify(citation) }))
    // Documents say again what those before them said.
    const fresh = citations.filter(({ key }) => !this.#cited.has(key))
    for (const { citation, key } of fresh) {
      this.#cited.add(key)
      const { start, end, ...source } = citation
      const text = this.#texts.findLast(each => each.start <= (start ?? Number.POSITIVE_INFINITY)) ?? this.#texts[0]
      const isOpen = this.#open === 'text' && text?.index === this.#index
      if (text !== undefined && (isOpen || whole)) {
        const range =
          start === undefined || end === undefined ? {} : { start: start - text.start, end: end - text.start }
        const place = { candidate: this.#candidate, index: text.index }
        out.push({ type: 'part-citation', ...place, citation: { ...source, ...range } })
      } else if (this.#open === 'text') {
        out.push({ type: 'part-citation', candidate: this.#candidate, index: this.#index, citation: source })
      }
    }
  }
}

/** Media, and what no other protocol has; undefined for a part that holds nothing. */
function otherPart(part: JsonObject): Part | undefined {
  const inline = objectOf(part.inlineData)
  if (inline !== undefined && part.thought !== true) {
    return inlineMedia(stringOf(inline.data) ?? '', stringOf(inline.mimeType))
  }
  const file = objectOf(part.fileData)
  if (file !== undefined && part.thought !== true)
    return fileMedia(stringOf(file.fileUri) ?? '', stringOf(file.mimeType))
  const holds = Object.keys(part).some(name => name !== 'thoughtSignature' && name !== 'thought')
  return holds ? { type: 'hosted', of: PROTOCOL, value: unsealed(part) } : undefined
}

/** Documents of an answer that are read leniently. */
export function candidatesOf(document: JsonObject): readonly Json[] {
  return arrayOf(document.candidates)
}
