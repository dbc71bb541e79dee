import { countedBy } from '../codecs/index.js'
import { sentText } from '../codecs/sent-text.js'
import type { CountCodec, Target, UpstreamError } from '../core/codec.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Exchange, Translation } from '../core/plan.js'
import type { TextRequest } from '../core/text.js'
import type { DecodedRequest } from './decode.js'
import { Losses } from './losses.js'
import type { Translated, Translator } from './translator.js'

/** Counts of tokens from one protocol to another. */
export class CountTranslator implements Translator {
  readonly losses: Losses
  readonly text = undefined
  readonly #server: CountCodec['server']
  readonly #client: CountCodec['client']
  readonly #request: TextRequest
  readonly #target: Target

  constructor(
    decoded: DecodedRequest,
    exchange: Exchange,
    translation: Translation,
    server: CountCodec,
    client: CountCodec,
  ) {
    this.#server = server.server
    this.#client = client.client
    const request = decoded.request as TextRequest
    const { protocol } = countedBy(client)
    const tables = { fields: countedBy(server).server.fields, carries: countedBy(client).client.carries }
    this.losses = new Losses(tables, decoded, false)
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.miss }
    this.#request = sentText(request, this.#target, protocol, true).request
  }

  encode(): JsonObject {
    return this.#client.encodeRequest(this.#request, this.#target)
  }

  release(): boolean {
    return false
  }

  document(answer: Json): Translated {
    const tokens = this.#client.decodeResult(answer)
    return { body: this.#server.encodeResult(tokens), usage: undefined }
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.decodeError(status, body)
  }
}
