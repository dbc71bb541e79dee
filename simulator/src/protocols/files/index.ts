import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { readForm } from './form.js'
import { fileRoutes } from './routes.js'

/** `POST /v1/files`: a form with `file` and `purpose`, and `expires_after` where it is to end. */
const upload = endpoint(compatible, 'POST /v1/files', { body: 'bytes' }, call =>
  json(fileObject(keep(call, readForm(call)))),
)

const unknown = (id: string): SimulatorError =>
  new SimulatorError(404, `No such File object: ${id}`, { param: 'id', code: 'not_found' })

export const FILES: readonly Protocol[] = [
  upload,
  ...fileRoutes({
    family: compatible,
    path: '/v1/files',
    download: '/content',
    kept: ({ memory }) => memory.storage.files,
    object: fileObject,
    list: (data, ids) => ({ object: 'list', data, ...ids, has_more: false }),
    deleted: id => ({ id, object: 'file', deleted: true }),
    unknown,
    type: 'application/octet-stream',
  }),
]

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

/** The file of this id. Throws {@link SimulatorError} where there is none. */
export function fileOf(id: string, { memory }: Pick<Call, 'memory'>): StoredFile {
  const file = memory.storage.files.get(id)
  if (file === undefined) throw unknown(id.slice(0, 200))
  return file
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
