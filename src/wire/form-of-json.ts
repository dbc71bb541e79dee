import { isObject, type Json, type JsonObject, parseJson } from '../core/json.js'
import { randomHex } from '../core/random-hex.js'
import { bytesOfBase64, dataUrlOf } from './base64.js'

/** A body in another format than JSON. */
export interface Formatted {
  readonly type: string
  readonly bytes: Buffer
}

const BOUNDARY_BYTES = 16

/**
 * A form with a part for each top-level member: texts as they are, numbers and booleans as written, other values as JSON,
 * data URLs as files, and a list as one part for each element. Null is left out. Throws `SyntaxError` if the document is not an object.
 */
export function multipartOf(document: Uint8Array): Formatted {
  const boundary = `gateway-${randomHex(BOUNDARY_BYTES)}`
  const pieces: Buffer[] = []
  for (const [name, value] of fieldsOf(document)) {
    const file = typeof value === 'string' ? fileOf(value) : undefined
    const disposition = `Content-Disposition: form-data; name="${quoted(name)}"`
    const more = file === undefined ? '' : `; filename="${quoted(name)}"\r\nContent-Type: ${file.type}`
    const content = file?.bytes ?? Buffer.from(textOf(value))
    pieces.push(Buffer.from(`--${boundary}\r\n${disposition}${more}\r\n\r\n`), content, Buffer.from('\r\n'))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(pieces) }
}

/** The same fields, as `application/x-www-form-urlencoded`. */
export function urlencodedOf(document: Uint8Array): Formatted {
  const fields = fieldsOf(document).map(([name, value]): [string, string] => [name, textOf(value)])
  return { type: 'application/x-www-form-urlencoded', bytes: Buffer.from(new URLSearchParams(fields).toString()) }
}

/** The bytes that a top-level member holds: a data URL, or base64. Otherwise what is wrong with it. */
export function bytesOf(document: Uint8Array, member: string): Formatted | 'absent' | 'not base64' {
  const value = objectOf(document)[member]
  if (value === undefined || value === null || value === '') return 'absent'
  const bytes = typeof value === 'string' ? bytesOfBase64(value) : undefined
  if (bytes === undefined) return 'not base64'
  return { type: dataUrlOf(String(value))?.type ?? 'application/octet-stream', bytes }
}

function fieldsOf(document: Uint8Array): readonly (readonly [string, Json])[] {
  return Object.entries(objectOf(document)).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Json[]) : [value])
      .filter(one => one !== null)
      .map((one): readonly [string, Json] => [name, one]),
  )
}

function objectOf(document: Uint8Array): JsonObject {
  const value = parseJson(Buffer.from(document).toString('utf8'))
  if (!isObject(value)) throw new SyntaxError('the document is not a JSON object')
  return value
}

function fileOf(text: string): Formatted | undefined {
  const url = dataUrlOf(text)
  return url && { type: url.type, bytes: Buffer.from(url.base64, 'base64') }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** As browsers write names (HTML, multipart/form-data encoding). */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
