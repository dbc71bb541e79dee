import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { missing } from '../../families/refusals.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import type { StoredUpload } from '../../storage.js'
import { readPart } from './form.js'
import { fileObject, keep } from './index.js'

const HOUR_SECONDS = 3600

/** `POST /v1/uploads`: a file that will come in parts. */
const create = endpoint(compatible, 'POST /v1/uploads', { body: 'json' }, call => {
  const { body, seed, memory } = call
  for (const name of ['bytes', 'filename', 'mime_type', 'purpose']) {
    if (body[name] === undefined) throw missing(name)
  }
  const { partedUploads } = memory.storage
  const own = seed.fork('upload', partedUploads.made)
  const id = `upload_${own.hex(32)}`
  const upload = {
    request: body,
    parts: new Map<string, Buffer>(),
    state: 'pending',
    created: own.created(),
  } as const
  partedUploads.put(id, upload)
  return json(uploadObject(id, upload))
})

/** `POST /v1/uploads/{id}/parts`: a form with `data`. */
const part = endpoint(compatible, 'POST /v1/uploads/{id}/parts', { body: 'bytes' }, call => {
  const upload = pending(call)
  const own = call.seed.fork('part', upload.parts.size)
  const id = `part_${own.hex(32)}`
  const parts = new Map(upload.parts).set(id, readPart(call))
  call.memory.storage.partedUploads.put(call.parameter, { ...upload, parts })
  return json({ id, object: 'upload.part', created_at: upload.created, upload_id: call.parameter })
})

/** `POST /v1/uploads/{id}/complete`: the parts in order. */
const complete = endpoint(compatible, 'POST /v1/uploads/{id}/complete', { body: 'json' }, call => {
  const upload = pending(call)
  const ids = Array.isArray(call.body.part_ids) ? call.body.part_ids : []
  const bytes = Buffer.concat(ids.map(id => upload.parts.get(String(id)) ?? unknownPart(String(id))))
  const { bytes: size, filename, mime_type, purpose } = upload.request
  if (bytes.length !== size) throw new SimulatorError(400, 'The parts do not have the size that was announced.')
  const named = { name: String(filename), type: String(mime_type), purpose: String(purpose) }
  const file = keep(call, { ...named, bytes })
  const done = { ...upload, parts: new Map<string, Buffer>(), state: 'completed' } as const
  call.memory.storage.partedUploads.put(call.parameter, done)
  return json({ ...uploadObject(call.parameter, done), file: fileObject(file) })
})

const cancel = endpoint(compatible, 'POST /v1/uploads/{id}/cancel', call => {
  const upload = { ...pending(call), parts: new Map<string, Buffer>(), state: 'cancelled' } as const
  call.memory.storage.partedUploads.put(call.parameter, upload)
  return json(uploadObject(call.parameter, upload))
})

export const UPLOADS: readonly Protocol[] = [create, part, complete, cancel]

function pending({ parameter: id, memory }: Call): StoredUpload {
  const upload = memory.storage.partedUploads.get(id)
  if (upload === undefined) throw new SimulatorError(404, `No upload found with id '${id.slice(0, 200)}'.`)
  if (upload.state === 'pending') return upload
  throw new SimulatorError(400, `The upload is ${upload.state}.`)
}

function unknownPart(id: string): never {
  throw new SimulatorError(400, `No part found with id '${id.slice(0, 200)}'.`, { param: 'part_ids' })
}

function uploadObject(id: string, { request, state, created }: StoredUpload) {
  const { bytes, filename, purpose } = request
  const times = { created_at: created, expires_at: Math.floor(Date.now() / 1000) + HOUR_SECONDS }
  return { id, object: 'upload', bytes, filename, purpose, status: state, ...times, file: null }
}
