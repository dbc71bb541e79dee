import { boundaryOf } from '../../../wire/multipart-boundary.js'
import { MultipartForm } from '../../../wire/multipart-form.js'
import { MultipartError } from '../../../wire/multipart-problems.js'
import { SimulatorError } from '../../errors.js'
import type { Call } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'

const LIMITS = { parts: 16, head: 16 * 1024, headers: 16, field: 64 * 1024, fields: 256 * 1024 }

/** The file of a form, with its purpose. Throws {@link SimulatorError} where one of them is missing. */
export function readForm({ bytes, headers }: Call): Omit<StoredFile, 'id' | 'created'> {
  const form = parsed(bytes, headers['content-type'])
  const file = form.files.find(part => part.name === 'file')
  const purpose = form.field('purpose')?.value
  if (file === undefined) throw missing('file')
  if (purpose === undefined || purpose === '') throw missing('purpose')
  const { filename = 'upload', type = 'application/octet-stream' } = file.head
  return { name: filename, type, purpose, bytes: Buffer.from(bytes.subarray(file.start, file.end)) }
}

/** The bytes of a part of an upload: the member `data` of a form. */
export function readPart({ bytes, headers }: Call): Buffer {
  const form = parsed(bytes, headers['content-type'])
  const data = [...form.files, ...form.fields].find(part => part.name === 'data')
  if (data === undefined) throw missing('data')
  return Buffer.from(bytes.subarray(data.start, data.end))
}

function parsed(bytes: Buffer, type: string | undefined): MultipartForm {
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

function missing(param: string): SimulatorError {
  return new SimulatorError(400, `Missing required parameter: '${param}'.`, {
    param,
    code: 'missing_required_parameter',
  })
}
