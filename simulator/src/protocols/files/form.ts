import { SimulatorError } from '../../errors.js'
import { badArgument } from '../../families/native.js'
import { missing, notListed, wrongValue } from '../../families/refusals.js'
import { type Part, partsOf } from '../../form.js'
import { isObject, parseJson } from '../../json.js'
import type { Call, Document, RequestHeaders } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { rangeOf } from '../range.js'

const PURPOSES = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision']
/** Bounds of how long a file may be wished to stay, seconds. */
const STAYS = { least: 3600, most: 30 * 86_400 }

/** The file of a form, with its purpose. Throws {@link SimulatorError} where one of them is missing or wrong. */
export function readForm({ bytes, headers, now }: Call): Omit<StoredFile, 'id' | 'created'> {
  const parts = parsed(bytes, headers['content-type'])
  const file = fileOf(parts)
  const purpose = field(parts, 'purpose') ?? ''
  if (file === undefined) throw missing('file')
  if (purpose === '') throw missing('purpose')
  if (!PURPOSES.includes(purpose)) throw notListed('purpose', purpose, PURPOSES)
  if (file.bytes.length === 0) throw wrongValue('file', "Invalid 'file': the file is empty.")
  const { filename = 'upload', type = 'application/octet-stream' } = file
  const stays = stayOf(parts)
  const end = stays === undefined ? {} : { expires: Math.floor(now / 1000) + stays }
  return { name: filename, type, purpose, bytes: Buffer.from(file.bytes), ...end }
}

/** Seconds, by `expires_after[anchor]` and `expires_after[seconds]`. */
function stayOf(parts: readonly Part[]): number | undefined {
  const [anchor, seconds] = ['anchor', 'seconds'].map(name => field(parts, `expires_after[${name}]`))
  if (anchor === undefined && seconds === undefined) return undefined
  if (anchor === undefined) throw missing('expires_after[anchor]')
  if (anchor !== 'created_at') throw notListed('expires_after[anchor]', anchor, ['created_at'])
  const stay = Number(seconds)
  if (Number.isInteger(stay) && stay >= STAYS.least && stay <= STAYS.most) return stay
  const param = 'expires_after[seconds]'
  throw wrongValue(param, `Invalid '${param}': expected an integer from ${STAYS.least} to ${STAYS.most}.`)
}

/** The bytes of a part of an upload: the member `data` of a form. */
export function readPart({ bytes, headers }: Call): Buffer {
  const data = parsed(bytes, headers['content-type']).find(part => part.name === 'data')
  if (data === undefined) throw missing('data')
  return Buffer.from(data.bytes)
}

/** Throws {@link SimulatorError} if the body is not a form. */
export function parsed(bytes: Buffer, type: string | undefined): readonly Part[] {
  const parts = partsOf(bytes, type)
  if (parts === undefined) throw new SimulatorError(400, 'The body is not a valid form.')
  return parts
}

/** The file in the member `file` of a form. */
export function fileOf(parts: readonly Part[]): Part | undefined {
  return parts.find(part => part.name === 'file' && part.isFile)
}

function field(parts: readonly Part[], name: string): string | undefined {
  return parts.find(part => part.name === name && !part.isFile)?.bytes.toString('utf8')
}

/** A file with its metadata before it, as `multipart/related`. */
export function readRelated({ bytes, headers }: Call): Pick<StoredFile, 'name' | 'type' | 'bytes'> {
  const [metadata, file] = partsOf(bytes, headers['content-type'], 'related') ?? []
  if (metadata === undefined || file === undefined) throw badArgument('The upload has to have two parts.')
  const said = parseJson(metadata.bytes.toString('utf8'))
  const asked = isObject(said) && isObject(said.file) ? said.file : {}
  const name = asked.displayName ?? asked.display_name
  return {
    name: typeof name === 'string' ? name : '',
    type: file.type ?? 'application/octet-stream',
    bytes: Buffer.from(file.bytes),
  }
}

/** Bytes of a file, or the one range of them that is asked for (RFC 9110 §14). */
export function content(bytes: Buffer, type: string, { range }: RequestHeaders): Document {
  const headers = { 'content-type': type, 'accept-ranges': 'bytes' }
  const wanted = rangeOf(range, bytes.length)
  if (wanted === undefined) return { kind: 'document', status: 200, headers, body: bytes }
  const { first, last } = wanted
  const span = { 'content-range': `bytes ${first}-${last}/${bytes.length}` }
  return { kind: 'document', status: 206, headers: { ...headers, ...span }, body: bytes.subarray(first, last + 1) }
}
