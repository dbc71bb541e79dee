import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { type Call, json, type Protocol } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { content } from './content.js'
import { readForm } from './form.js'

const SHARED = { body: 'none', family: compatible, models: [] } as const

/** `POST /v1/files`: a form with `file` and `purpose`, and `expires_after` where it is to end. */
const upload: Protocol = {
  ...SHARED,
  method: 'POST',
  path: '/v1/files',
  body: 'bytes',
  answer: call => json(fileObject(keep(call, readForm(call)))),
}

/** `GET /v1/files`. */
const list: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files',
  answer: ({ memory }) => {
    const data = memory.storage.files.all.toReversed().map(fileObject)
    return json({
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: false,
    })
  },
}

/** `GET /v1/files/{id}/content`. */
const download: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files/{id}/content',
  answer: call => content(known(call).bytes, 'application/octet-stream', call.headers),
}

/** `GET /v1/files/{id}`. */
const retrieve: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files/{id}',
  answer: call => json(fileObject(known(call))),
}

/** `DELETE /v1/files/{id}`. */
const remove: Protocol = {
  ...SHARED,
  method: 'DELETE',
  path: '/v1/files/{id}',
  answer: call => {
    const { id } = known(call)
    call.memory.storage.files.drop(id)
    return json({ id, object: 'file', deleted: true })
  },
}

export const FILES: readonly Protocol[] = [upload, list, download, retrieve, remove]

/** Keeps a file under an id of its own. */
export function keep(
  { memory, seed }: Pick<Call, 'memory' | 'seed'>,
  file: Omit<StoredFile, 'id' | 'created'>,
): StoredFile {
  const { files } = memory.storage
  const own = seed.fork('file', files.made, file.name)
  const stored = { ...file, id: `file-${own.letters(24)}`, created: own.created() }
  files.put(stored.id, stored)
  return stored
}

function known(call: Call): StoredFile {
  return fileOf(call.parameter, call)
}

/** The file of this id. Throws {@link SimulatorError} where there is none. */
export function fileOf(id: string, { memory }: Pick<Call, 'memory'>): StoredFile {
  const file = memory.storage.files.get(id)
  if (file !== undefined) return file
  throw new SimulatorError(404, `No such File object: ${id.slice(0, 200)}`, { param: 'id', code: 'not_found' })
}

/** As the protocol tells it. */
export function fileObject({ id, bytes, created, expires = 0, name, purpose }: StoredFile) {
  return {
    id,
    object: 'file',
    bytes: bytes.length,
    created_at: created,
    expires_at: expires === 0 ? null : expires,
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  }
}
