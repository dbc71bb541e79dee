import type { Frame } from '../../core/codec.js'
import type { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import { type Slots, slot } from '../slot.js'

/**
 * What a feature adds to the translation of one request and its answer, for candidates that speak another protocol. A stage
 * gives it to {@link addToTranslation} before the first attempt. Members are in the order in which they are used.
 */
export interface TranslationHooks {
  /** What `onDocument` puts before the client's own items, as JSON. */
  readonly earlier?: { readonly items: number; readonly bytes: number }
  /** The request has been parsed: returns what is decoded. Rejects with the error for the client. */
  onDocument?(document: JsonObject): Promise<JsonObject>
  /** The error with its place in what the client sent; errors of the codecs name places in what was decoded. */
  placed?(error: GatewayError): GatewayError
  /** The answer's own id, if the gateway gives it. */
  readonly id?: string
  /** Ids of the answer and of its parts. */
  readonly newId?: (prefix: string) => string
  /** A whole answer in the client's protocol: returns the one that is sent. */
  onAnswer?(answer: JsonObject): Promise<JsonObject>
  /** An event at the end of a streamed answer. The answer waits for the event that is sent in its place, if one is returned. */
  onLastEvent?(event: Frame): Promise<Frame> | undefined
}

const HOOKS = slot<TranslationHooks>('translation')
const NO_HOOKS: TranslationHooks = {}

/** One feature of a route can add to the translation of its requests. */
export function addToTranslation(call: Slots, hooks: TranslationHooks): void {
  call.set(HOOKS, hooks)
}

export function hooksOf(call: Slots): TranslationHooks {
  return call.get(HOOKS) ?? NO_HOOKS
}
