import type { Bytes, Frame, StreamDecoder, StreamEncoder, TextCodec, UpstreamError } from '../core/codec.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Overflow } from '../core/long-text.js'
import type { Usage } from '../core/plan.js'
import type { TextResult } from '../core/text.js'
import type { Losses } from './losses.js'
import type { SealMemory } from './seals.js'

/** An answer in the client's protocol, and what it cost: a document, the events of a stream of whole things, or bytes. */
export type Translated = Cost &
  ({ readonly body: JsonObject } | { readonly frames: readonly Frame[] } | { readonly content: Bytes })
export type TranslatedBody = Cost & { readonly body: JsonObject }

interface Cost {
  readonly usage: Usage | undefined
}

/** One request of one client on its way to one target and back. */
export interface Translator {
  readonly losses: Losses
  /** How many calls it takes, where a model makes one thing for each. */
  readonly calls?: number
  /** What comes of the calls besides the first one, once they are made. */
  others?: { answers(): Promise<readonly { readonly body: Buffer }[]> }
  /** The request as the upstream takes it, or the call of that number. Throws `untranslatable`. */
  encode(nth?: number): JsonObject
  /** Drops what only the request is made of. False where its answers need that, too. */
  release(): boolean
  /** An upstream's whole answer, with those of other calls, in the client's protocol. Throws `bad_upstream_response`. */
  document(answer: Json, others?: readonly Json[]): Translated
  error(status: number, body: Json | undefined): UpstreamError
  /** Where the operation has streams. */
  readonly text: TextTranslator | undefined
}

/** A translator of text, whose answers may come as streams. */
export interface TextTranslator extends Translator {
  /** The client's protocol. */
  readonly server: Pick<TextCodec, 'server' | 'protocol'>
  /** Whether the client's protocol ends a stream with all that was in it. */
  readonly repeats: boolean
  /** Whether the upstream streams JSON documents. */
  readonly jsonStreams: boolean
  result(answer: Json): TextResult
  /** An answer in the client's protocol. */
  show(result: TextResult): TranslatedBody
  /** Keeps the seals of the answer that was shown, where the client's protocol has no place to send them back. */
  remember(memory: SealMemory, owner: string | undefined): Promise<void>
  decoder(): StreamDecoder
  /** `overflow`: for text that has to wait for the stream's end. */
  encoder(overflow: Overflow): StreamEncoder
}
