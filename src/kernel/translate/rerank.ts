import type { AnswerContext, RerankCodec, UpstreamError } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Exchange, Translation } from '../../core/plan.js'
import type { RerankRequest } from '../../core/rerank.js'
import type { Asked } from './asked.js'
import { Losses } from './losses.js'
import type { Translated, Translator } from './translator.js'

/** Reranking from one protocol to another. */
export class RerankTranslator implements Translator {
  readonly losses: Losses
  readonly text = undefined
  readonly #server: RerankCodec['server']
  readonly #client: RerankCodec['client']
  readonly #request: RerankRequest
  readonly #target: Parameters<RerankCodec['client']['encodeRequest']>[1]
  readonly #newId: AnswerContext['newId']

  constructor(
    asked: Asked,
    exchange: Exchange,
    translation: Translation,
    { server }: RerankCodec,
    { client }: RerankCodec,
    strict: boolean,
    newId: AnswerContext['newId'],
  ) {
    this.#server = server
    this.#client = client
    this.#request = asked.request as RerankRequest
    this.losses = new Losses({ fields: server.fields, carries: client.carries }, asked, strict || translation.strict)
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.lose }
    this.#newId = newId
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
    return { body: this.#server.encodeResult(result, this.#request, this.#newId('rerank-')), usage }
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.decodeError(status, body)
  }
}
