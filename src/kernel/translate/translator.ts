import type { Bytes, Frame, UpstreamError } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Usage } from '../../core/plan.js'
import type { Losses } from './losses.js'
import type { OtherCalls } from './other-calls.js'
import type { TextTranslator } from './text.js'

/** An answer in the client's protocol, and what it cost: a document, the events of a stream of whole things, or bytes. */
export type Translated = TranslatedBody | TranslatedFrames | TranslatedBytes

export interface TranslatedBody {
  readonly body: JsonObject
  readonly usage: Usage | undefined
}

export interface TranslatedFrames {
  readonly frames: readonly Frame[]
  readonly usage: Usage | undefined
}

export interface TranslatedBytes {
  readonly content: Bytes
  readonly usage: Usage | undefined
}

/** One request of one client on its way to one target and back. */
export interface Translator {
  readonly losses: Losses
  /** How many calls it takes, where a model makes one thing for each. */
  readonly calls?: number
  /** Those beside the first one, once they are to be made. */
  others?: OtherCalls
  /** The request as the upstream takes it, or the call of that number. Throws `untranslatable`. */
  encode(nth?: number): JsonObject
  /** Drops what only the request is made of. False where its answers need that, too. */
  letGo(): boolean
  /** Headers that it needs beside the upstream's own: flat name, value list. */
  headers(): readonly string[]
  /** An upstream's whole answer, with those of other calls, in the client's protocol. Throws `bad_upstream_response`. */
  document(answer: Json, others?: readonly Json[]): Translated
  error(status: number, body: Json | undefined): UpstreamError
  /** Where the operation has streams. */
  readonly text: TextTranslator | undefined
}
