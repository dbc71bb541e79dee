import { jsonText, parseExact } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { joined, utf8Text, yieldToEventLoop } from '../../kernel/translate/steps.js'
import type { Item } from './items.js'

/** A stored response. It points back to the previous one, so each response can be continued any number of times. */
export type StoredResponse = OwnResponse | KeptResponse

interface Stored {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly created: number
  /** The model as named by the client. */
  readonly model: string
}

/** A response whose conversation the gateway keeps. */
export interface OwnResponse extends Stored {
  readonly kind: 'own'
  readonly previous: string | undefined
  /** The named conversation that it belongs to, and how many of its lines are earlier. */
  readonly conversation?: { readonly id: string; readonly lines: number }
  /** Size of the conversation up to here: responses, and bytes of their items as JSON. */
  readonly turns: number
  readonly bytes: number
  /** Number of items; absent in records of former versions. */
  readonly items?: number
  /** The client's items in this turn. */
  readonly input: readonly Item[]
  /** The response object with its output, as the client has it. */
  readonly response: JsonObject
  /** It runs, or ran, in the background. */
  readonly background: boolean
  /** When the process that runs it last wrote that it is alive, milliseconds since the epoch. */
  readonly beat?: number
}

/** A response that an upstream keeps. */
export interface KeptResponse extends Stored {
  readonly kind: 'kept'
  readonly upstream: string
  readonly background: boolean
}

/** A background run that has not written for this long is lost, milliseconds. */
const LOST_AFTER_MS = 120_000
const UNFINISHED = new Set<unknown>(['queued', 'in_progress'])

/** Whether the response is still running. */
export function isUnfinished({ response }: OwnResponse): boolean {
  return UNFINISHED.has(response.status)
}

/** Whether the response is unfinished and no process runs it. */
export function isLost(stored: OwnResponse, now: number): boolean {
  return isUnfinished(stored) && now - (stored.beat ?? 0) > LOST_AFTER_MS
}

/** The response's output items, as later turns inherit them. */
export function outputOf({ response }: Pick<OwnResponse, 'response'>): readonly Item[] {
  const { output } = response
  return Array.isArray(output) ? output.filter(isObject) : []
}

/** Bytes of a value as JSON. */
export function sizeOf(value: unknown): number {
  return Buffer.byteLength(jsonText(value))
}

/** The head of a record: the size of the conversation, which can be read without the rest. */
export interface StoredHead {
  readonly turns: number
  readonly bytes: number
  readonly items: number
}

/** Most bytes of a record that are decoded and parsed in one turn of the event loop, beside one item. */
const STEP_BYTES = 256 * 1024
/** Longest first line of a record; only absurd names and ids would make it longer. */
const MAX_HEAD_BYTES = 64 * 1024
const NEWLINE = 10

/**
 * The record of a response as lines of JSON: a head, the client's items, the response without its output, and its output's
 * items. A large one is written and read item by item, in several turns of the event loop, and never as one text.
 */
export async function encodeStored(stored: StoredResponse): Promise<Buffer> {
  if (stored.kind === 'kept') return Buffer.from(JSON.stringify(stored))
  const { turns, bytes, items, input, response, ...rest } = stored
  const { output } = response
  const outputs = Array.isArray(output) ? output : undefined
  const head = { turns, bytes, items, inputs: input.length, ...rest, ...(outputs && { outputs: outputs.length }) }
  const lines: readonly Json[] = [
    head as unknown as Json,
    ...input,
    outputs === undefined ? response : { ...response, output: [] },
    ...(outputs ?? []),
  ]
  const pieces: Buffer[] = []
  let [size, step] = [0, 0]
  for (const line of lines) {
    const piece = Buffer.from(`${jsonText(line)}\n`)
    pieces.push(piece)
    size += piece.length
    step += piece.length
    if (step < STEP_BYTES) continue
    step = 0
    await yieldToEventLoop(Number.POSITIVE_INFINITY)
  }
  return joined(pieces, size)
}

/** Undefined if a former version wrote the record, or if an upstream keeps the response. */
export function headOf(bytes: Uint8Array): StoredHead | undefined {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE)
  const head = end < 0 ? undefined : parseJson(textOf(bytes.subarray(0, end)))
  if (!isObject(head)) return undefined
  const { turns, bytes: size, items } = head
  if (typeof turns !== 'number' || typeof size !== 'number' || typeof items !== 'number') return undefined
  return { turns, bytes: size, items }
}

/** Undefined if the bytes are not a response. */
export async function decodeStored(bytes: Uint8Array): Promise<StoredResponse | undefined> {
  const lines: Json[] = []
  for (let [at, step] = [0, 0]; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at)
    const line = bytes.subarray(at, end < 0 ? bytes.length : end)
    // Records of former versions are one line.
    lines.push(parseExact(end < 0 ? await utf8Text(Buffer.from(line)) : textOf(line)))
    at += line.length + 1
    step += line.length
    if (step < STEP_BYTES) continue
    step = 0
    await yieldToEventLoop(Number.POSITIVE_INFINITY)
  }
  const [head, ...rest] = lines
  if (!isObject(head)) return undefined
  if (head.kind !== 'own' || typeof head.inputs !== 'number') {
    return head.kind === 'own' || head.kind === 'kept' ? (head as unknown as StoredResponse) : undefined
  }
  const { inputs, outputs, ...facts } = head
  const response = rest[inputs]
  if (!isObject(response)) return undefined
  const output = rest.slice(inputs + 1)
  if (output.length !== (outputs ?? 0)) return undefined
  const whole = outputs === undefined ? response : { ...response, output }
  return { ...facts, input: rest.slice(0, inputs), response: whole } as unknown as OwnResponse
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
