import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { breathe, jsonBytes, utf8Text } from '../translate/steps.js'
import type { Item } from './items.js'

/** A response as the store has it. Each points back to the one before it, so any of them can be continued any number of times. */
export type StoredResponse = OwnResponse | KeptResponse

interface Stored {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly created: number
  /** The model as the client named it. */
  readonly model: string
}

/** A response whose conversation is here. */
export interface OwnResponse extends Stored {
  readonly kind: 'own'
  readonly previous: string | undefined
  /** Of the conversation up to here: how many responses, and how many bytes their items have as JSON. */
  readonly turns: number
  readonly bytes: number
  /** What the client sent in this turn. */
  readonly input: readonly Item[]
  /** The response object, output included, as the client has it. */
  readonly response: JsonObject
  /** It ran, or runs, without a client that waits for it. */
  readonly background: boolean
  /** When the process that runs it was last known to be alive, milliseconds since the epoch. */
  readonly beat?: number
}

/** A response that an upstream keeps itself. */
export interface KeptResponse extends Stored {
  readonly kind: 'kept'
  readonly upstream: string
  readonly background: boolean
}

/** After how long without a sign of life a run in the background counts as lost, milliseconds. */
const SILENCE = 120_000
const UNFINISHED = new Set<unknown>(['queued', 'in_progress'])

/** Whether the response is still to come. */
export function isUnfinished({ response }: OwnResponse): boolean {
  return UNFINISHED.has(response.status)
}

/** Whether nobody makes it any more, though it is unfinished. */
export function isLost(stored: OwnResponse, now: number): boolean {
  return isUnfinished(stored) && now - (stored.beat ?? 0) > SILENCE
}

/** What the response gave, in the form in which later turns take it in. */
export function outputOf({ response }: OwnResponse): readonly Item[] {
  const { output } = response
  return Array.isArray(output) ? output.filter(isObject) : []
}

/** Bytes of a value as JSON. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** The record of a response; a large one is made in several turns of the event loop. */
export async function encodeStored(stored: StoredResponse): Promise<Buffer> {
  const size = stored.kind === 'own' ? stored.bytes : 0
  await breathe(size)
  return jsonBytes(stored as unknown as Json, size)
}

/** Undefined where the bytes are none of ours. */
export async function decodeStored(bytes: Uint8Array): Promise<StoredResponse | undefined> {
  const text = await utf8Text(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const json = JSON.parse(text) as Json
  await breathe(bytes.length)
  if (!isObject(json)) return undefined
  return json.kind === 'own' || json.kind === 'kept' ? (json as unknown as StoredResponse) : undefined
}
