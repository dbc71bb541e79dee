import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Left, MediaPart, Part, ReasoningPart, ResultPart, Seal, TextPart } from '../../core/text.js'
import { MADE_UP } from '../made-ids.js'
import { child, children } from '../native-casing.js'
import { fileMedia, inlineMedia } from '../native-media.js'
import { invalid, isBounded, leaveOthers, parseObject, type Reader } from '../read.js'

import { callIn, clientName, PROTOCOL, thoughtOf } from './calls.js'

/**
 * Ids of the calls in a client's history. The protocol lets clients leave them out, also of results alone; then a result
 * belongs to the first call of that name that has none yet.
 */
export class CallIds {
  #made = 0
  /** Ids of calls by the name of the function; those before `next` have a result. */
  readonly #calls = new Map<string, { readonly ids: string[]; next: number }>()
  readonly #given = new Set<string>()
  readonly #answered = new Set<string>()

  call(name: string, given: string | undefined): string {
    const id = given ?? this.next()
    if (given !== undefined) this.#given.add(given)
    const calls = this.#calls.get(name)
    if (calls === undefined) this.#calls.set(name, { ids: [id], next: 0 })
    else calls.ids.push(id)
    return id
  }

  /** The id of the call that a result answers; one that no call has where there is none. */
  result(name: string, given: string | undefined): string {
    const id = given !== undefined && this.#given.has(given) ? given : (this.waiting(name) ?? given ?? this.next())
    this.#answered.add(id)
    return id
  }

  private waiting(name: string): string | undefined {
    const calls = this.#calls.get(name)
    if (calls === undefined) return undefined
    for (; calls.next < calls.ids.length; calls.next++) {
      const id = calls.ids[calls.next]
      if (id !== undefined && !this.#answered.has(id)) return id
    }
    return undefined
  }

  private next(): string {
    return `${MADE_UP}${this.#made++}`
  }
}

const LEVEL = 'MEDIA_RESOLUTION_'

/** `MEDIA_RESOLUTION_LOW` as the detail of an image; undefined where it says nothing. */
export function detailOf(resolution: string | undefined): string | undefined {
  switch (resolution?.replace(LEVEL, '')) {
    case 'LOW':
      return 'low'
    case 'MEDIUM':
      return 'auto'
    case 'HIGH':
    case 'ULTRA_HIGH':
      return 'high'
    default:
      return undefined
  }
}

/** The one resolution for all media of a request; undefined where it is up to the upstream. */
export function resolutionOf(details: readonly string[]): string | undefined {
  if (details.includes('high') || details.includes('original')) return `${LEVEL}HIGH`
  return details.length > 0 && details.every(detail => detail === 'low') ? `${LEVEL}LOW` : undefined
}

const RESULT_MEMBERS = new Set(['id', 'name', 'response', 'parts'])
const WHY = {
  willContinue: 'other protocols have no partial results',
  scheduling: 'other protocols have no scheduled results',
}
const MEDIA = new Set(['inlineData', 'fileData'])

/** The members of a response that hold one text and nothing else: what the tool answered, or its error. */
const OUTPUTS = ['output', 'result'] as const

/** `functionResponse` → result. */
function resultIn(reader: Reader, ids: CallIds, { left }: { readonly left: Left[] }): ResultPart {
  leaveOthers(reader, RESULT_MEMBERS, left, WHY)
  const wire = reader.required('name')
  const { name, custom } = clientName(wire)
  const response = reader.object('response')?.value ?? {}
  const { text, object, error } = answerOf(response)
  const parts: (TextPart | MediaPart)[] = text === '' && object === undefined ? [] : [{ type: 'text', text }]
  for (const part of children(reader, 'parts')) parts.push(...resultMediaIn(part))
  for (const part of children(reader, 'parts')) leaveOthers(part, MEDIA, left)
  return {
    type: 'result',
    id: ids.result(wire, reader.string('id')),
    name,
    parts,
    ...(custom && { custom }),
    ...(object !== undefined && { object }),
    ...(error && { error }),
  }
}

function resultMediaIn(part: Reader): MediaPart[] {
  const inline = child(part, 'inlineData')
  if (inline !== undefined) return [inlineMedia(inline.string('data') ?? '', inline.string('mimeType'))]
  const file = child(part, 'fileData')
  return file === undefined ? [] : [fileMedia(file.required('fileUri'), file.string('mimeType'))]
}

function answerOf(response: JsonObject): { text: string; object?: JsonObject; error: boolean } {
  const names = Object.keys(response)
  const [only = ''] = names
  const value: Json | undefined = names.length === 1 ? response[only] : undefined
  if (only === 'error' && value !== undefined) {
    return typeof value === 'string'
      ? { text: value, error: true }
      : { text: jsonText(value), object: response, error: true }
  }
  if (typeof value === 'string' && (OUTPUTS as readonly string[]).includes(only)) return { text: value, error: false }
  if (names.length === 0) return { text: '', error: false }
  return { text: jsonText(response), object: response, error: false }
}

/**
 * A result as the object that the protocol wants: the object that it is or that its text holds, else its text as
 * `output` (or `error`, for errors), the two names that the protocol gives to the purpose.
 */
export function responseOf({ parts, object, error }: ResultPart): JsonObject {
  if (object !== undefined) return error === true && !Object.hasOwn(object, 'error') ? { error: object } : object
  const text = parts
    .filter((part): part is TextPart => part.type === 'text')
    .map(part => part.text)
    .join('\n')
  if (error === true) return { error: text }
  const parsed = text.startsWith('{') ? parseObject(text) : undefined
  return parsed === undefined || isOneText(parsed) || !isBounded(parsed) ? { output: text } : parsed
}

/** Whether an object would be taken for its one text when it comes back. */
function isOneText(object: JsonObject): boolean {
  const names = Object.keys(object)
  return names.length === 0 || (names.length === 1 && ['error', ...OUTPUTS].includes(names[0] ?? ''))
}

/** What reading the parts of one request continues with. */
export interface PartsReader {
  readonly ids: CallIds
  readonly left: Left[]
  /** Detail of images that say none themselves. */
  readonly detail: string | undefined
}

/** Kinds of parts that no other protocol has. */
const HOSTED = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const

const KNOWN = new Set([
  ...['text', 'thought', 'thoughtSignature', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['mediaResolution', ...HOSTED],
])
export const PART_WHY = {
  videoMetadata: 'other protocols cannot cut videos',
  mediaProcessing: 'other protocols do not say how media are processed',
  partMetadata: 'other protocols have no metadata of parts',
}
const CALL_KNOWN = new Set(['id', 'name', 'args'])
const CALL_WHY = {
  partialArgs: 'a history cannot contain partial arguments',
  willContinue: 'a history cannot contain partial arguments',
}

/** One part of a client's `contents`; undefined where it says nothing. */
export function partIn(reader: Reader, request: PartsReader): Part | undefined {
  leaveOthers(reader, KNOWN, request.left, PART_WHY)
  const signature = reader.string('thoughtSignature')
  const rest: { at: string; seal?: Seal } = { at: reader.at }
  const sealed = signature === undefined || signature === '' ? undefined : thoughtOf(signature)
  if (sealed !== undefined) rest.seal = sealed.seal

  const text = reader.string('text')
  if (text !== undefined) {
    if (text === '' && rest.seal === undefined) return undefined
    if (reader.boolean('thought') === true) return { type: 'reasoning', text, at: reader.at, ...thoughtShape(sealed) }
    return { type: 'text', text, ...rest }
  }
  const media = mediaIn(reader, request)
  if (media !== undefined) return { ...media, ...rest }
  if (!isBounded(reader.value)) throw invalid(reader.at, 'it is nested too deep')
  const call = child(reader, 'functionCall')
  if (call !== undefined) return { ...functionCallIn(call, request), ...rest }
  const result = child(reader, 'functionResponse')
  if (result !== undefined) return { ...resultIn(result, request.ids, request), ...rest }
  if (HOSTED.some(name => reader.has(name)))
    return { type: 'hosted', of: PROTOCOL, value: unsealed(reader.value), ...rest }
  return rest.seal === undefined ? undefined : { type: 'text', text: '', ...rest }
}

/** Thoughts are summaries here; those that another protocol sealed are what they were there. */
function thoughtShape(sealed: ReturnType<typeof thoughtOf> | undefined): Partial<ReasoningPart> {
  return sealed === undefined || sealed.seal.by === PROTOCOL ? { summary: true, ...sealed } : sealed
}

/** A part as it is, but for its signature, which is in the seal. */
export function unsealed(part: JsonObject): JsonObject {
  const { thoughtSignature: _, ...value } = part
  return value
}

function mediaIn(reader: Reader, { detail }: PartsReader): Extract<Part, { type: 'media' }> | undefined {
  const inline = child(reader, 'inlineData')
  const file = child(reader, 'fileData')
  if (inline === undefined && file === undefined) return undefined
  const media =
    inline === undefined
      ? fileMedia(file?.required('fileUri') ?? '', file?.string('mimeType'))
      : inlineMedia(inline.string('data') ?? '', inline.string('mimeType'))
  const own = detailOf(child(reader, 'mediaResolution')?.string('level')) ?? detail
  return media.kind === 'image' && own !== undefined ? { ...media, detail: own } : media
}

function functionCallIn(reader: Reader, { ids, left }: PartsReader): Extract<Part, { type: 'call' }> {
  leaveOthers(reader, CALL_KNOWN, left, CALL_WHY)
  const name = reader.required('name')
  if (name === '') throw invalid(reader.path('name'), 'it is empty')
  return callIn(ids.call(name, reader.string('id')), name, reader.object('args')?.value ?? {})
}
