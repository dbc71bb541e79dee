import {
  type AnswerContext,
  callsOf,
  type DocumentAnswer,
  type DocumentCodec,
  type Target,
  type UpstreamError,
} from '../core/codec.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Exchange, Translation, Usage, UsagePaths } from '../core/plan.js'
import type { Counted } from '../core/text.js'
import { usageOf as readUsage, sumOfUsage } from '../wire/usage.js'
import type { DecodedRequest } from './decode.js'
import { Losses } from './losses.js'
import type { Translated, Translator } from './translator.js'

/** An operation whose answers are whole documents, from one protocol to another: embeddings, reranking, images, sound. */
export class WholeTranslator implements Translator {
  readonly losses: Losses
  readonly text = undefined
  readonly calls: number
  others?: NonNullable<Translator['others']>
  readonly #server: DocumentCodec['server']
  readonly #client: DocumentCodec['client']
  readonly #request: DecodedRequest['request']
  readonly #target: Target<string>
  readonly #answer: DocumentAnswer
  readonly #usage: UsagePaths | undefined
  /** Whether the upstream speaks the client's protocol, and so gets what is unknown here. */
  readonly #isOwn: boolean

  constructor(
    decoded: DecodedRequest,
    exchange: Exchange,
    translation: Translation,
    { protocol: asked, server }: DocumentCodec,
    { protocol: spoken, client }: DocumentCodec,
    strict: boolean,
    newId: AnswerContext['newId'],
  ) {
    this.#server = server
    this.#client = client
    this.#isOwn = asked === spoken
    this.#request = decoded.request
    this.losses = new Losses({ fields: server.fields, carries: client.carries }, decoded, strict || translation.strict)
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.lose }
    this.calls = callsOf(client, decoded.request, translation.traits)
    this.#usage = translation.usage
    this.#answer = { newId, now: Math.floor(Date.now() / 1000) }
  }

  encode(nth = 0): JsonObject {
    if (!this.#isOwn) this.losses.left(this.#request.left)
    const request = this.#request
    // With the same seed all of them would be equal.
    const hasSeed = 'seed' in request && typeof request.seed === 'number'
    const seeded = nth > 0 && hasSeed ? { ...request, seed: Number(request.seed) + nth } : request
    return this.#client.encodeRequest(seeded, this.#target)
  }

  release(): boolean {
    return false
  }

  document(answer: Json, others: readonly Json[] = []): Translated {
    const { result, spent } = this.#resultOf(answer, others)
    const reported = usageOf(result)
    const usage = spent === undefined ? reported : sumOfUsage(reported, spent)
    this.#noteMissing(result)
    const { encodeEvents, encodeBytes } = this.#server
    if ('stream' in this.#request && this.#request.stream && encodeEvents !== undefined) {
      return { frames: encodeEvents(result, this.#request, this.#answer), usage }
    }
    const content = encodeBytes?.(result, this.#request)
    if (content !== undefined) return { content, usage }
    return { body: this.#server.encodeResult(result, this.#request, this.#answer), usage }
  }

  /** Of several calls those count that came to something; `spent`: what the others cost. */
  #resultOf(answer: Json, others: readonly Json[]): { readonly result: Counted; readonly spent: Usage | undefined } {
    if (others.length === 0) return { result: this.#client.decodeResult(answer, this.#request), spent: undefined }
    const results: Counted[] = []
    let spent: Usage | undefined
    let failure: unknown
    for (const one of [answer, ...others]) {
      try {
        results.push(this.#client.decodeResult(one, this.#request))
      } catch (cause) {
        failure ??= cause
        const usage = this.#usage && readUsage(one, this.#usage)
        if (usage !== undefined) spent = sumOfUsage(spent, usage)
      }
    }
    const [first, ...rest] = results
    if (first === undefined) throw failure
    return { result: rest.reduce(joined, first), spent }
  }

  /** The upstream may have withheld some of several images. */
  #noteMissing(result: Counted): void {
    if (!('images' in result) || !Array.isArray(result.images) || !('count' in this.#request)) return
    const { count = 1 } = this.#request
    const missing = count - result.images.length
    if (missing > 0) this.losses.short('count', `${missing} of ${count} images are missing: the upstream sent no more`)
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.decodeError(status, body)
  }
}

/** Two answers as one: what they hold, and what they cost together. */
function joined(before: Counted, after: Counted): Counted {
  const images = [before, after].flatMap(one => ('images' in one && Array.isArray(one.images) ? one.images : []))
  const sum = (name: 'input' | 'output'): object => {
    const counts = [before[name], after[name]].filter(count => count !== undefined)
    return counts.length === 0 ? {} : { [name]: counts.reduce((total, count) => total + count, 0) }
  }
  return { ...before, ...sum('input'), ...sum('output'), ...(images.length > 0 && { images }) }
}

/** Some operations make nothing that is counted. */
function usageOf({ input, output, inputAudio, outputAudio, searchUnits }: Counted & OtherCounted): Usage | undefined {
  const all = { input, output, inputAudio, outputAudio, searches: searchUnits }
  const counts = Object.entries(all).filter(([, count]) => count !== undefined)
  if (counts.length === 0) return undefined
  return { ...Object.fromEntries(counts), ...(input !== undefined && { total: input + (output ?? 0) }) }
}

/** Of operations on sounds: its part of the tokens. Of ranks: searches. */
interface OtherCounted {
  readonly inputAudio?: number
  readonly outputAudio?: number
  readonly searchUnits?: number
}
