import type { AnswerContext, DocumentAnswer, DocumentCodec, Target, UpstreamError } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Exchange, Translation, Usage } from '../../core/plan.js'
import type { Counted } from '../../core/text.js'
import type { Asked } from './asked.js'
import { Losses } from './losses.js'
import type { Translated, Translator } from './translator.js'

/** An operation whose answers are whole documents, from one protocol to another: embeddings, reranking, images, sound. */
export class WholeTranslator implements Translator {
  readonly losses: Losses
  readonly text = undefined
  readonly #server: DocumentCodec['server']
  readonly #client: DocumentCodec['client']
  readonly #request: Asked['request']
  readonly #target: Target<string>
  readonly #answer: DocumentAnswer

  constructor(
    asked: Asked,
    exchange: Exchange,
    translation: Translation,
    { server }: DocumentCodec,
    { client }: DocumentCodec,
    strict: boolean,
    newId: AnswerContext['newId'],
  ) {
    this.#server = server
    this.#client = client
    this.#request = asked.request
    this.losses = new Losses({ fields: server.fields, carries: client.carries }, asked, strict || translation.strict)
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.lose }
    this.#answer = { newId, now: Math.floor(Date.now() / 1000) }
  }

  encode(): JsonObject {
    this.losses.left(this.#request.left)
    return this.#client.encodeRequest(this.#request, this.#target)
  }

  letGo(): boolean {
    return false
  }

  headers(): readonly string[] {
    return []
  }

  document(answer: Json): Translated {
    const result = this.#client.decodeResult(answer, this.#request)
    const usage = usageOf(result)
    this.#noteMissing(result)
    const { encodeEvents, encodeBytes } = this.#server
    if ('stream' in this.#request && this.#request.stream && encodeEvents !== undefined) {
      return { frames: encodeEvents(result, this.#request, this.#answer), usage }
    }
    const content = encodeBytes?.(result, this.#request)
    if (content !== undefined) return { content, usage }
    return { body: this.#server.encodeResult(result, this.#request, this.#answer), usage }
  }

  /** Of several images some may have been held back. */
  #noteMissing(result: Counted): void {
    if (!('images' in result) || !Array.isArray(result.images) || !('count' in this.#request)) return
    const { count = 1 } = this.#request
    const missing = count - result.images.length
    if (missing > 0) this.losses.short('count', `${missing} of ${count} images are missing: the upstream gave no more`)
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.decodeError(status, body)
  }
}

/** Some operations make nothing that is counted. */
function usageOf({ input, output, inputAudio, outputAudio }: Counted & AudioCounted): Usage | undefined {
  const counts = Object.entries({ input, output, inputAudio, outputAudio }).filter(([, count]) => count !== undefined)
  if (counts.length === 0) return undefined
  return { ...Object.fromEntries(counts), ...(input !== undefined && { total: input + (output ?? 0) }) }
}

/** Of operations on sounds: its part of the tokens. */
interface AudioCounted {
  readonly inputAudio?: number
  readonly outputAudio?: number
}
