import { createHash } from 'node:crypto'
import { SimulatorError } from '../../errors.js'
import { badArgument, native } from '../../families/native.js'
import { isObject, parseJson } from '../../json.js'
import { type Call, type Document, endpoint, json, type Protocol } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { readRelated } from './form.js'
import { fileRoutes } from './routes.js'

const PATH = '/upload/v1beta/files'
const GRANULARITY_BYTES = 256 * 1024
/** How long files are kept, seconds. */
const RETENTION_SECONDS = 48 * 3600

/** `POST /upload/v1beta/files`: in pieces (resumable), or at once as `multipart/related`. */
const upload = endpoint(native, `POST ${PATH}`, { body: 'bytes' }, call => {
  const command = call.headers['x-goog-upload-command'] ?? ''
  if (call.query.has('upload_id')) return goOn(call, command)
  if (command === 'start') return begin(call)
  const { name, type, bytes } = readRelated(call)
  return json({ file: fileObject(keepNative(call, { name, type, bytes }), call) })
})

function begin({ seed, headers, bytes, memory, origin }: Call): Document {
  const { uploads } = memory.storage
  const id = seed.fork('upload', uploads.made).letters(32)
  const asked = parseJson(bytes.toString('utf8') || '{}')
  if (!isObject(asked)) throw badArgument('Invalid JSON payload received.')
  const file = isObject(asked.file) ? asked.file : {}
  const name = file.displayName ?? file.display_name
  const type = headers['x-goog-upload-header-content-type'] ?? 'application/octet-stream'
  uploads.put(id, { name: typeof name === 'string' ? name : '', type, pieces: [], size: 0 })
  const url = `${origin}${PATH}?upload_id=${id}&upload_protocol=resumable`
  return empty('active', { 'x-goog-upload-url': url, 'x-goog-upload-chunk-granularity': String(GRANULARITY_BYTES) })
}

function goOn(call: Call, command: string): Document {
  const { memory, query, headers, bytes } = call
  const id = query.get('upload_id') ?? ''
  const open = memory.storage.uploads.get(id)
  if (open === undefined) throw new SimulatorError(404, 'Upload not found.')
  if (command === 'query') return empty('active', { 'x-goog-upload-size-received': String(open.size) })
  if (command === 'cancel') {
    memory.storage.uploads.drop(id)
    return empty('cancelled')
  }
  if (Number(headers['x-goog-upload-offset'] ?? 0) !== open.size)
    throw badArgument('The offset is not where the upload is.')
  const grown = { ...open, pieces: [...open.pieces, Buffer.from(bytes)], size: open.size + bytes.length }
  if (!command.includes('finalize')) {
    memory.storage.uploads.put(id, grown)
    return empty('active')
  }
  memory.storage.uploads.drop(id)
  const file = keepNative(call, { name: open.name, type: open.type, bytes: Buffer.concat(grown.pieces) })
  return json({ file: fileObject(file, call) }, 200, { 'x-goog-upload-status': 'final' })
}

function empty(status: string, headers = {}): Document {
  const type = { 'content-type': 'text/plain; charset=utf-8' }
  const all = { ...type, 'x-goog-upload-status': status, ...headers }
  return { kind: 'document', status: 200, headers: all, body: Buffer.alloc(0) }
}

export const NATIVE_FILES: readonly Protocol[] = [
  upload,
  ...fileRoutes({
    family: native,
    path: '/v1beta/files',
    download: ':download',
    kept: ({ memory }) => memory.storage.nativeFiles,
    object: fileObject,
    list: files => ({ files }),
    deleted: () => ({}),
    unknown: id => {
      const message = `You do not have permission to access the File ${id} or it may not exist.`
      return new SimulatorError(403, message, { code: 'PERMISSION_DENIED' })
    },
  }),
]

/** Keeps a file under a name of its own. */
export function keepNative(
  { memory, seed, now }: Pick<Call, 'memory' | 'seed' | 'now'>,
  { name, type, bytes }: Pick<StoredFile, 'name' | 'type' | 'bytes'>,
): StoredFile {
  const { nativeFiles } = memory.storage
  const own = seed.fork('file', nativeFiles.made)
  const file = { id: own.hex(32), name, type, purpose: '', bytes, created: own.created(), stored: now }
  nativeFiles.put(file.id, file)
  return file
}

function fileObject({ id, name, type, bytes, stored = 0 }: StoredFile, { origin }: Call) {
  const time = new Date(stored).toISOString()
  return {
    name: `files/${id}`,
    ...(name === '' ? {} : { displayName: name }),
    mimeType: type,
    sizeBytes: String(bytes.length),
    createTime: time,
    updateTime: time,
    expirationTime: new Date(stored + RETENTION_SECONDS * 1000).toISOString(),
    sha256Hash: Buffer.from(createHash('sha256').update(bytes).digest('hex')).toString('base64'),
    uri: `${origin}/v1beta/files/${id}`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  }
}
