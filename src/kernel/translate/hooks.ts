import type { Frame } from '../../core/codec.js'
import type { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import { type Slots, slot } from '../slot.js'

/**
 * A feature's part in the translation of one request and its answer, for candidates that speak another protocol. A stage
 * passes it to {@link addToTranslation} before the first attempt. Members are in the order of their use.
 */
export interface TranslationHooks {
  /** Size of what `onDocument` adds before the client's own items, as JSON. */
  readonly earlier?: { readonly items: number; readonly bytes: number }
  /** The request was parsed: returns the document to decode. Rejects with the error for the client. */
  onDocument?(document: JsonObject): Promise<JsonObject>
  /** The error with paths in the client's own document; errors of the codecs refer to the decoded one. */
  placed?(error: GatewayError): GatewayError
  /** The answer's own id, if the gateway chooses it. */
  readonly id?: string
  /** Ids of the answer and of its parts. */
  readonly newId?: (prefix: string) => string
  /** A whole answer in the client's protocol: returns the one to send. */
  onAnswer?(answer: JsonObject): Promise<JsonObject>
  /** An event at the end of a streamed answer. If a promise is returned, the answer waits for it and sends its event instead. */
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
