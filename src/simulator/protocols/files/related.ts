import { isObject, parseJson } from '../../../core/json.js'
import { MultipartReader } from '../../../wire/multipart.js'
import { boundaryOf } from '../../../wire/multipart-boundary.js'
import { MultipartError } from '../../../wire/multipart-problems.js'
import { badArgument } from '../../families/native.js'
import type { Call } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'

const LIMITS = { parts: 2, head: 16 * 1024, headers: 16 }

/** A file with its metadata before it, as `multipart/related`. */
export function readRelated({ bytes, headers }: Call): Pick<StoredFile, 'name' | 'type' | 'bytes'> {
  try {
    return read(bytes, headers['content-type'])
  } catch (error) {
    if (error instanceof MultipartError) throw badArgument(error.message)
    throw error
  }
}

function read(bytes: Buffer, type: string | undefined): Pick<StoredFile, 'name' | 'type' | 'bytes'> {
  const reader = new MultipartReader(boundaryOf(type, 'related'), LIMITS)
  const parts: { start: number; end: number; type: string | undefined }[] = []
  for (const event of [...reader.push(bytes), ...reader.end()]) {
    if (event.type === 'part') parts.push({ start: event.start, end: event.start, type: event.head.type })
    const last = parts.at(-1)
    if (event.type === 'part-end' && last !== undefined) last.end = event.end
  }
  const [metadata, file] = parts
  if (metadata === undefined || file === undefined) throw badArgument('The upload has to have two parts.')
  const said = parseJson(bytes.toString('utf8', metadata.start, metadata.end))
  const asked = isObject(said) && isObject(said.file) ? said.file : {}
  const name = asked.displayName ?? asked.display_name
  return {
    name: typeof name === 'string' ? name : '',
    type: file.type ?? 'application/octet-stream',
    bytes: Buffer.from(bytes.subarray(file.start, file.end)),
  }
}
