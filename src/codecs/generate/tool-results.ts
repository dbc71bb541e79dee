import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Left, MediaPart, ResultPart, TextPart } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { leaveOthers } from '../members.js'
import { child, children } from '../native-casing.js'
import { fileMedia, inlineMedia } from '../native-media.js'
import { parseObject, type Reader } from '../read.js'
import type { CallIds } from './call-ids.js'
import { clientName } from './names.js'

const KNOWN = new Set(['id', 'name', 'response', 'parts'])
const WHY = {
  willContinue: 'other protocols have no partial results',
  scheduling: 'other protocols have no scheduled results',
}
const MEDIA = new Set(['inlineData', 'fileData'])

/** The members of a response that hold one text and nothing else: what the tool answered, or its error. */
const OUTPUTS = ['output', 'result'] as const

/** `functionResponse` → result. */
export function resultIn(reader: Reader, ids: CallIds, { left }: { readonly left: Left[] }): ResultPart {
  leaveOthers(reader, KNOWN, left, WHY)
  const wire = reader.required('name')
  const { name, custom } = clientName(wire)
  const response = reader.object('response')?.value ?? {}
  const { text, object, error } = answerOf(response)
  const parts: (TextPart | MediaPart)[] = text === '' && object === undefined ? [] : [{ type: 'text', text }]
  for (const part of children(reader, 'parts')) parts.push(...mediaIn(part))
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

function mediaIn(part: Reader): MediaPart[] {
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
