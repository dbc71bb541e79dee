import { createHash, type Hash } from 'node:crypto'
import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { HeldBody } from './admit.js'
import type { FormBody } from './form.js'
import { breathe, joined, jsonBytes } from './translate/steps.js'

/** Most bytes of files that are held in memory for an upstream that takes JSON alone. */
const MOST_FILES = 32 * 1024 * 1024

/** How libraries write the member of an object into a form; what is in a list has a number, or nothing, there. */
const MEMBER = /^([^[\]]+)\[([A-Za-z_][\w-]*)\]$/

/** A form as JSON, for upstreams that take no other. */
export async function formAsJson(body: FormBody): Promise<HeldBody> {
  const { document, size } = await formDocument(body)
  return { type: 'bytes', bytes: await jsonBytes(document, size), model: undefined }
}

/**
 * A form as a JSON object: fields as strings, files as data URLs, names that stand several times as lists, and
 * `name[member]` as a member of an object. `size`: about how many bytes it has as JSON. Throws `too_large`.
 */
export async function formDocument(body: FormBody): Promise<{ readonly document: JsonObject; readonly size: number }> {
  const files = await filesOf(body)
  const document: Record<string, Json> = Object.create(null)
  let size = 2
  for (const { part, field } of body.form.parts) {
    const type = part.head.type ?? 'application/octet-stream'
    const value = field?.value ?? `data:${type};base64,${await base64Of(files.get(part.start) ?? [])}`
    size += value.length
    const [, outer = '', inner = ''] = MEMBER.exec(part.name) ?? []
    if (inner !== '') {
      const object = document[outer] ?? Object.create(null)
      if (isObject(object)) document[outer] = { ...object, [inner]: value }
      continue
    }
    const name = part.name.endsWith('[]') ? part.name.slice(0, -2) : part.name
    const before = document[name]
    if (before === undefined) document[name] = name === part.name ? value : [value]
    else document[name] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return { document, size }
}

/** Takes what a form says into a digest: the same form sent again has other boundaries. */
export async function digestForm(body: FormBody, hash: Hash): Promise<Hash> {
  const inner = createHash('sha256')
  await each(body, (_start, bytes) => inner.update(bytes))
  const said = body.form.parts.map(({ part: { name, head, start, end }, field }) => [
    name,
    field?.value ?? [head.filename, head.type, end - start],
  ])
  return hash.update(JSON.stringify(said)).update(inner.digest())
}

async function filesOf(body: FormBody): Promise<ReadonlyMap<number, readonly Buffer[]>> {
  const files = new Map<number, Buffer[]>()
  let size = 0
  await each(body, (start, bytes) => {
    size += bytes.length
    if (size > MOST_FILES) {
      throw new GatewayError('too_large', `The files of this request are larger than ${MOST_FILES} bytes.`, {
        limit: 'files',
      })
    }
    const pieces = files.get(start)
    if (pieces === undefined) files.set(start, [bytes])
    else pieces.push(bytes)
  })
  return files
}

/** Bytes that are written as base64 in one turn of the event loop; a multiple of three, so that what comes of them joins. */
const STEP = 1536 * 1024

async function base64Of(pieces: readonly Buffer[]): Promise<string> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  const bytes = await joined(pieces, size)
  let text = ''
  for (let at = 0; at < size; at += STEP) {
    text += bytes.toString('base64', at, Math.min(size, at + STEP))
    await breathe(size)
  }
  return text
}

/** The bytes of the files, in order, each piece with the place where its file begins. */
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
