import { UnforceStream, unforceResult } from '../codecs/forced-tool.js'
import { FreeTextStream, type FreeTextTools } from '../codecs/free-text-tools.js'
import type { NarrowNames } from '../codecs/narrow-names.js'
import { sentText } from '../codecs/sent-text.js'
import type {
  AnswerContext,
  Frame,
  StreamDecoder,
  StreamEncoder,
  Target,
  TextCodec,
  UpstreamError,
} from '../core/codec.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Overflow } from '../core/long-text.js'
import type { Exchange, Translation, Usage } from '../core/plan.js'
import type { FunctionTool, TextEvent, TextRequest, TextResult, TextUsage } from '../core/text.js'
import type { DecodedRequest } from './decode.js'
import { Losses } from './losses.js'
import { SealGatherer, type SealMemory, withRecalled } from './seals.js'
import type { TextTranslator, TranslatedBody } from './translator.js'

/** Text from one protocol to another. */
export class TextPair implements TextTranslator {
  readonly losses: Losses
  readonly text = this
  readonly server: Pick<TextCodec, 'server' | 'protocol'>
  readonly #client: TextCodec
  #request: TextRequest
  /** The same, but for the answer's form, where the model gives that by calling a tool, free text, and names it would refuse. */
  #sent: TextRequest
  readonly #isForced: boolean
  readonly #names: NarrowNames | undefined
  readonly #freeText: FreeTextTools | undefined
  readonly #target: Target
  #answer: AnswerContext
  readonly #seals = new SealGatherer()

  constructor(
    decoded: DecodedRequest,
    exchange: Exchange,
    translation: Translation,
    server: Pick<TextCodec, 'server' | 'protocol'>,
    client: TextCodec,
    strict: boolean,
    { newId, id }: Pick<AnswerContext, 'newId' | 'id'>,
  ) {
    this.server = server
    this.#client = client
    this.#request = withRecalled(decoded.request as TextRequest, decoded.recalled, client.protocol)
    this.losses = new Losses(
      { fields: server.server.fields, carries: client.client.carries },
      decoded,
      strict || translation.strict,
    )
    this.#target = { model: exchange.model, traits: translation.traits, lose: this.losses.lose }
    const sent = sentText(this.#request, this.#target, client.protocol)
    this.#isForced = sent.isForced
    this.#names = sent.names
    this.#freeText = sent.freeText
    this.#sent = sent.request
    this.#answer = {
      request: this.#request,
      newId,
      id,
      now: Math.floor(Date.now() / 1000),
      body: decoded.body,
      lose: (what, why) => this.losses.note(what, why),
    }
  }

  encode(): JsonObject {
    this.losses.left(this.#request.left)
    return this.#client.client.encodeRequest(this.#sent, this.#target)
  }

  /** Whether the client's protocol ends a stream with all that was in it. */
  get repeats(): boolean {
    return this.server.server.answerBody === undefined
  }

  release(): boolean {
    const { answerBody } = this.server.server
    if (answerBody === undefined) return false
    const { model, stream, streamUsage } = this.#request
    // Calls of grouped tools must be mapped back to the client's names.
    const tools = this.#request.tools.flatMap(({ type, name, within }): readonly FunctionTool[] =>
      type === 'hosted' || within === undefined ? [] : [{ type: 'function', name, within }],
    )
    const bare: TextRequest = { model, stream, streamUsage, system: [], turns: [], tools, left: [] }
    this.#answer = { ...this.#answer, request: bare, body: answerBody(this.#answer.body) }
    this.#request = bare
    this.#sent = bare
    this.losses.release()
    return true
  }

  document(answer: Json): TranslatedBody {
    return this.show(this.result(answer))
  }

  get jsonStreams(): boolean {
    return this.#client.client.jsonStreams === true
  }

  /** An answer in the client's protocol. */
  show(result: TextResult): TranslatedBody {
    if (!this.server.server.returnsSeals) this.#seals.parts(result.candidates[0]?.parts ?? [])
    return { body: this.server.server.encodeResult(result, this.#answer), usage: usageOf(result.usage) }
  }

  result(answer: Json): TextResult {
    const said = this.#client.client.decodeResult(answer)
    const heard = this.#freeText?.result(said) ?? said
    const result = this.#names?.result(heard) ?? heard
    return this.#isForced ? unforceResult(result) : result
  }

  /** Keeps the seals of the answer that was shown, where the client's protocol has no place to send them back. */
  async remember(memory: SealMemory, owner: string | undefined): Promise<void> {
    await this.#seals.remember(memory, owner)
  }

  /** Calls get free text where their tools take that, then their tools' own names; the forced call is text again. */
  decoder(): StreamDecoder {
    const names = this.#names
    const freeText = this.#freeText && new FreeTextStream(this.#freeText)
    const unforce = this.#isForced ? new UnforceStream() : undefined
    let decoder = this.#client.client.decodeStream()
    if (freeText !== undefined) decoder = new MappedDecoder(decoder, event => freeText.push(event))
    if (names !== undefined) decoder = new MappedDecoder(decoder, event => [names.event(event)])
    return unforce === undefined ? decoder : new MappedDecoder(decoder, event => unforce.push(event))
  }

  /** `overflow`: for text that has to wait for the stream's end. */
  encoder(overflow: Overflow): StreamEncoder {
    return this.server.server.encodeStream({ ...this.#answer, overflow })
  }

  error(status: number, body: Json | undefined): UpstreamError {
    return this.#client.client.decodeError(status, body)
  }
}

/** A decoder whose events are read in another way before anyone gets them. */
class MappedDecoder implements StreamDecoder {
  readonly #decoder: StreamDecoder
  readonly #read: (event: TextEvent) => readonly TextEvent[]

  constructor(decoder: StreamDecoder, read: (event: TextEvent) => readonly TextEvent[]) {
    this.#decoder = decoder
    this.#read = read
  }

  push(frame: Frame): readonly TextEvent[] {
    return this.#decoder.push(frame).flatMap(this.#read)
  }

  end(): readonly TextEvent[] {
    return this.#decoder.end().flatMap(this.#read)
  }
}

export function usageOf(usage: TextUsage | undefined): Usage | undefined {
  if (usage?.input === undefined || usage.output === undefined) return usage
  return { ...usage, total: usage.input + usage.output }
}
