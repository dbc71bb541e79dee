import type { JsonObject } from '../../core/json.js'
import type { Left, Part, ReasoningPart, Seal } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { leaveOthers } from '../members.js'
import { child } from '../native-casing.js'
import { fileMedia, inlineMedia } from '../native-media.js'
import { invalid, type Reader } from '../read.js'
import type { CallIds } from './call-ids.js'
import { callIn } from './calls.js'
import { detailOf } from './resolution.js'
import { PROTOCOL, thoughtOf } from './seals.js'
import { resultIn } from './tool-results.js'

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
