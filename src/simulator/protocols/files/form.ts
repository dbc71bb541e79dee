import { boundaryOf } from '../../../wire/multipart-boundary.js'
import { MultipartForm } from '../../../wire/multipart-form.js'
import { MultipartError } from '../../../wire/multipart-problems.js'
import { SimulatorError } from '../../errors.js'
import { missing, notListed, wrongValue } from '../../families/refusals.js'
import type { Call } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'

const LIMITS = { parts: 16, head: 16 * 1024, headers: 16, field: 64 * 1024, fields: 256 * 1024 }

const PURPOSES = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision']
/** Bounds of how long a file may be wished to stay, seconds. */
const STAYS = { least: 3600, most: 30 * 86_400 }

/** The file of a form, with its purpose. Throws {@link SimulatorError} where one of them is missing or wrong. */
export function readForm({ bytes, headers, now }: Call): Omit<StoredFile, 'id' | 'created'> {
  const form = parsed(bytes, headers['content-type'])
  const file = form.files.find(part => part.name === 'file')
  const purpose = form.field('purpose')?.value ?? ''
  if (file === undefined) throw missing('file')
  if (purpose === '') throw missing('purpose')
  if (!PURPOSES.includes(purpose)) throw notListed('purpose', purpose, PURPOSES)
  if (file.start === file.end) throw wrongValue('file', "Invalid 'file': the file is empty.")
  const { filename = 'upload', type = 'application/octet-stream' } = file.head
  const stays = stayOf(form)
  const end = stays === undefined ? {} : { expires: Math.floor(now / 1000) + stays }
  return { name: filename, type, purpose, bytes: Buffer.from(bytes.subarray(file.start, file.end)), ...end }
}

/** Seconds, by `expires_after[anchor]` and `expires_after[seconds]`. */
function stayOf(form: MultipartForm): number | undefined {
  const [anchor, seconds] = ['anchor', 'seconds'].map(name => form.field(`expires_after[${name}]`)?.value)
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
  const form = parsed(bytes, headers['content-type'])
  const data = [...form.files, ...form.fields].find(part => part.name === 'data')
  if (data === undefined) throw missing('data')
  return Buffer.from(bytes.subarray(data.start, data.end))
}

/** Throws {@link SimulatorError} where it is no form. */
export function parsed(bytes: Buffer, type: string | undefined): MultipartForm {
  try {
    const form = new MultipartForm(boundaryOf(type), { control: ['purpose'], limits: LIMITS })
    form.push(bytes)
    form.end()
    return form
  } catch (error) {
    if (error instanceof MultipartError) throw new SimulatorError(400, error.message)
    throw error
  }
}
