import { createHash, type Hash } from 'node:crypto'
import { GatewayError } from '../../core/errors.js'
import type { Json } from '../../core/json.js'
import type { HeldBody } from '../admit.js'
import type { FormBody } from '../form.js'

/** Most bytes of files that are held in memory for an upstream that takes JSON alone. */
const MOST_FILES = 32 * 1024 * 1024

/** A form as a JSON object: fields as strings, files as data URLs, names that stand several times as lists. */
export async function formAsJson(body: FormBody): Promise<HeldBody> {
  const files = await filesOf(body)
  const document: Record<string, Json> = Object.create(null)
  for (const { part, field } of body.form.parts) {
    const bytes = files.get(part.start)
    const type = part.head.type ?? 'application/octet-stream'
    const value = field?.value ?? (bytes && `data:${type};base64,${bytes.toString('base64')}`) ?? null
    const name = part.name.endsWith('[]') ? part.name.slice(0, -2) : part.name
    const before = document[name]
    if (before === undefined) document[name] = name === part.name ? value : [value]
    else document[name] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return { type: 'bytes', bytes: Buffer.from(JSON.stringify(document)), model: undefined }
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

async function filesOf(body: FormBody): Promise<ReadonlyMap<number, Buffer>> {
  const files = new Map<number, Buffer[]>()
  let size = 0
  await each(body, (start, bytes) => {
    size += bytes.length
    if (size > MOST_FILES) {
      throw new GatewayError('too_large', `The files of this request are larger than ${MOST_FILES} bytes.`, {
        limit: 'files',
      })
    }
    files.set(start, [...(files.get(start) ?? []), bytes])
  })
  return new Map([...files].map(([start, pieces]) => [start, Buffer.concat(pieces)]))
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
