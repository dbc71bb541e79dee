import { createHash, type Hash } from 'node:crypto'
import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { FormsAs } from '../core/shape.js'
import type { FormBody, HeldBody, MemberChanges } from './body.js'
import type { Call } from './call.js'
import { jsonBytes } from './translate/steps.js'

/** Maximum size of the files in memory for an upstream that accepts JSON only. */
export const MAX_FILE_BYTES = 32 * 1024 * 1024

/** Characters of base64 for each byte of a file. */
const BASE64_CHARS_PER_BYTE = 4 / 3

const UNCHANGED: MemberChanges['fields'] = new Map()

/** How libraries write an object's member into a form; items of lists have an index, or nothing, in the brackets. */
const MEMBER = /^([^[\]]+)\[([A-Za-z_][\w-]*)\]$/

/** A form as JSON, for upstreams that accept nothing else. `fields`: new texts by name; undefined: the field is left out. */
export async function formAsJson(
  call: Call,
  body: FormBody,
  as: FormsAs,
  fields?: MemberChanges['fields'],
): Promise<HeldBody> {
  const { document, size } = await formDocument(call, body, as, fields)
  const bytes = await jsonBytes(document, size)
  call.memory.release()
  return { type: 'bytes', bytes, model: undefined, made: true }
}

/**
 * Converts a form into a JSON object: fields become strings, files data URLs or base64, repeated names lists, and
 * `name[member]` a member of an object. `size`: its approximate size as JSON, bytes. Throws `too_large`.
 */
export async function formDocument(
  call: Call,
  body: FormBody,
  as: FormsAs = 'json',
  fields: MemberChanges['fields'] = UNCHANGED,
): Promise<{ readonly document: JsonObject; readonly size: number }> {
  await makeRoom(call, Math.ceil(body.spool.length * BASE64_CHARS_PER_BYTE))
  const files = await filesOf(body)
  const document: Record<string, Json> = Object.create(null)
  let size = 2
  for (const { part, field } of body.form.parts) {
    if (fields.has(part.name) && fields.get(part.name) === undefined) continue
    const type = part.head.type ?? 'application/octet-stream'
    const head = as === 'json' ? `data:${type};base64,` : ''
    const value = fields.get(part.name) ?? field?.value ?? head + (files.get(part.start) ?? '')
    size += value.length
    put(document, part.name, value)
  }
  return { document, size }
}

/** The same of URL-encoded fields, of which there may be so many. */
export function urlencodedAsJson(bytes: Buffer, maxFields: number): HeldBody {
  const document: Record<string, Json> = Object.create(null)
  let fields = 0
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    fields += 1
    if (fields > maxFields) {
      throw new GatewayError('bad_request', `The form has more than ${maxFields} fields.`, { limit: 'parts' })
    }
    put(document, name, value)
  }
  return { type: 'bytes', bytes: Buffer.from(JSON.stringify(document)), model: undefined, made: true }
}

function put(document: Record<string, Json>, written: string, value: string): void {
  const [, outer = '', inner = ''] = MEMBER.exec(written) ?? []
  if (inner !== '') {
    const object = document[outer] ?? Object.create(null)
    if (isObject(object)) document[outer] = { ...object, [inner]: value }
    return
  }
  const name = written.endsWith('[]') ? written.slice(0, -2) : written
  const before = document[name]
  if (before === undefined) document[name] = name === written ? value : [value]
  else document[name] = Array.isArray(before) ? [...before, value] : [before, value]
}

/** Reserves memory for the sent bytes, and then for the document. A form that is tried again keeps the first. */
async function makeRoom(call: Call, size: number): Promise<void> {
  // A call that is over would never give it back.
  call.cancellation.throwIfCancelled()
  const body = call.bodyMemory.bytes > 0 ? undefined : call.bodyMemory.reserve(size)
  if (body !== undefined) await body
  // Joining the pieces of a string, or splitting it, takes its size twice.
  const document = call.memory.reserve(2 * size)
  if (document !== undefined) await document
}

/** Adds a form's content to a digest: the boundaries differ if the same form is sent again. */
export async function digestForm(body: FormBody, hash: Hash): Promise<Hash> {
  const inner = createHash('sha256')
  await each(body, (_start, bytes) => inner.update(bytes))
  const said = body.form.parts.map(({ part: { name, head, start, end }, field }) => [
    name,
    field?.value ?? [head.filename, head.type, end - start],
  ])
  return hash.update(JSON.stringify(said)).update(inner.digest())
}

/** The files of a form as base64, by their offsets. */
async function filesOf(body: FormBody): Promise<ReadonlyMap<number, string>> {
  const files = new Map<number, Base64Text>()
  let size = 0
  await each(body, (start, bytes) => {
    size += bytes.length
    if (size > MAX_FILE_BYTES) {
      throw new GatewayError('too_large', `The files of this request are larger than ${MAX_FILE_BYTES} bytes.`, {
        limit: 'files',
      })
    }
    const file = files.get(start) ?? new Base64Text()
    files.set(start, file)
    file.append(bytes)
  })
  return new Map([...files].map(([start, file]) => [start, file.end()]))
}

/** Encodes base64 piece by piece. */
class Base64Text {
  readonly #pieces: string[] = []
  /** Up to two bytes, which do not fill a group of three yet. */
  #rest: Buffer = Buffer.alloc(0)

  append(bytes: Buffer): void {
    const whole = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const groups = whole.length - (whole.length % 3)
    this.#pieces.push(whole.toString('base64', 0, groups))
    // A copy: a view would keep the whole buffer in memory.
    this.#rest = Buffer.from(whole.subarray(groups))
  }

  end(): string {
    this.#pieces.push(this.#rest.toString('base64'))
    return this.#pieces.join('')
  }
}

/** The files' bytes in order, each piece with its file's offset. */
async function each({ spool, form }: FormBody, take: (start: number, bytes: Buffer) => unknown): Promise<void> {
  const files = form.parts.filter(({ field }) => field?.value === undefined).map(({ part }) => part)
  if (files.length === 0) return
  let at = 0
  for await (const chunk of spool.read()) {
    for (const { start, end } of files) {
      const [from, to] = [Math.max(start, at), Math.min(end, at + chunk.length)]
      if (from < to) take(start, chunk.subarray(from - at, to - at))
    }
    at += chunk.length
  }
}
