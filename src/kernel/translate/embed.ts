import type { EmbedCodec, UpstreamError } from '../../core/codec.js'
import type { EmbedRequest } from '../../core/embed.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Exchange, Translation } from '../../core/plan.js'
import type { Asked } from './asked.js'
import { Losses } from './losses.js'
import type { Translated, Translator } from './translator.js'

/** Embeddings from one protocol to another. */
export class EmbedTranslator implements Translator {
  readonly losses: Losses
  readonly text = undefined
  readonly #server: EmbedCodec['server']
  readonly #client: EmbedCodec['client']
  readonly #request: EmbedRequest
  readonly #target: Parameters<EmbedCodec['client']['encodeRequest']>[1]

  constructor(
    asked: Asked,
    exchange: Exchange,
    translation: Translation,
    { server }: EmbedCodec,
    { client }: EmbedCodec,
    strict: boolean,
  ) {
    this.#server = server
    this.#client = client
    this.#request = asked.request as EmbedRequest
    const tables = { fields: server.fields, carries: client.carries }
    this.losses = new Losses(tables, asked, strict || translation.strict)
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.lose }
  }

  encode(): JsonObject {
    this.losses.left(this.#request.left)
    return this.#client.encodeRequest(this.#request, this.#target)
  }

  headers(): readonly string[] {
    return []
  }

  document(answer: Json): Translated {
    const result = this.#client.decodeResult(answer, this.#request)
    const usage = result.input === undefined ? undefined : { input: result.input, total: result.input }
    return { body: this.#server.encodeResult(result, this.#request), usage }
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.decodeError(status, body)
  }
}
