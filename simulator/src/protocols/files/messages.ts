import { SimulatorError } from '../../errors.js'
import { messageBlocks } from '../../families/messages.js'
import { type Call, endpoint, json, type Protocol, type RequestHeaders } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { fileOf, parsed } from './form.js'
import { fileRoutes } from './routes.js'

/** The paths are those of another protocol, too: its clients have long asked for them so, as the gateway does. */
const isMeant = (_: RequestHeaders, query: URLSearchParams): boolean => query.get('beta') === 'true'

/** `POST /v1/files` of the messages protocol: a form with `file` alone. */
const upload = endpoint(
  messageBlocks,
  'POST /v1/files',
  { operation: 'message-files', body: 'bytes', serves: isMeant },
  call => json(fileObject(keepForMessages(call))),
)

export const MESSAGE_FILES: readonly Protocol[] = [
  upload,
  ...fileRoutes({
    family: messageBlocks,
    serves: isMeant,
    path: '/v1/files',
    download: '/content',
    kept: ({ memory }) => memory.storage.messageFiles,
    object: fileObject,
    list: (data, ids) => ({ data, has_more: false, ...ids }),
    deleted: id => ({ id, type: 'file_deleted' }),
    unknown: id => new SimulatorError(404, `File not found: ${id}`),
  }),
]

function keepForMessages({ bytes, headers, memory, seed }: Call): StoredFile {
  const file = fileOf(parsed(bytes, headers['content-type']))
  if (file === undefined) throw new SimulatorError(400, 'file: Field required')
  const { filename = 'upload', type: mime = 'application/octet-stream' } = file
  const { messageFiles } = memory.storage
  const own = seed.fork('file', messageFiles.made, filename)
  const stored = {
    id: `file_${own.letters(24)}`,
    name: filename,
    type: mime,
    purpose: '',
    bytes: Buffer.from(file.bytes),
    created: own.created(),
  }
  messageFiles.put(stored.id, stored)
  return stored
}

/** As the protocol tells it; every file may be fetched here. */
function fileObject({ id, name, type, bytes, created }: StoredFile) {
  return {
    id,
    type: 'file',
    filename: name,
    mime_type: type,
    size_bytes: bytes.length,
    created_at: new Date(created * 1000).toISOString(),
    downloadable: true,
  }
}
