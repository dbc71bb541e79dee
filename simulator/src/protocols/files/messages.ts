import { SimulatorError } from '../../errors.js'
import { messageBlocks } from '../../families/messages.js'
import { type Call, json, type Protocol, type RequestHeaders } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { content } from './content.js'
import { fileOf, parsed } from './form.js'

/** The paths are those of another protocol, too: its clients have long asked for them so, as the gateway does. */
const isMeant = (_: RequestHeaders, query: URLSearchParams): boolean => query.get('beta') === 'true'

const SHARED = { body: 'none', family: messageBlocks, models: [], serves: isMeant } as const

/** `POST /v1/files` of the messages protocol: a form with `file` alone. */
const upload: Protocol = {
  ...SHARED,
  method: 'POST',
  path: '/v1/files',
  operation: 'message-files',
  body: 'bytes',
  answer: call => json(fileObject(keepForMessages(call))),
}

const list: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files',
  answer: ({ memory }) => {
    const data = memory.storage.messageFiles.all.toReversed().map(fileObject)
    return json({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null })
  },
}

const download: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files/{id}/content',
  answer: call => {
    const { bytes, type } = known(call)
    return content(bytes, type, call.headers)
  },
}

const get: Protocol = {
  ...SHARED,
  method: 'GET',
  path: '/v1/files/{id}',
  answer: call => json(fileObject(known(call))),
}

const remove: Protocol = {
  ...SHARED,
  method: 'DELETE',
  path: '/v1/files/{id}',
  answer: call => {
    const { id } = known(call)
    call.memory.storage.messageFiles.drop(id)
    return json({ id, type: 'file_deleted' })
  },
}

export const MESSAGE_FILES: readonly Protocol[] = [upload, list, download, get, remove]

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

/** The file of this id. Throws {@link SimulatorError} where there is none. */
function known({ parameter: id, memory }: Call): StoredFile {
  const file = memory.storage.messageFiles.get(id)
  if (file !== undefined) return file
  throw new SimulatorError(404, `File not found: ${id.slice(0, 200)}`)
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
