import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { type JsonObject, parseLines } from '../../json.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import { isDone, looked, type StoredBatch } from '../../storage.js'
import { keep } from '../files/index.js'

const DAY_SECONDS = 86_400
const TEXTS = ['/v1/responses', '/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/moderations']
const ENDPOINTS = [...TEXTS, '/v1/images/generations', '/v1/images/edits', '/v1/videos']

const create = endpoint(compatible, 'POST /v1/batches', { body: 'json' }, call => {
  const { batches, files } = call.memory.storage
  const body = new Fields(call.body)
  body.needOneOf('endpoint', ENDPOINTS)
  body.needOneOf('completion_window', ['24h'])
  const input = files.get(String(call.body.input_file_id))
  if (input === undefined) {
    const message = `No such File object: ${String(call.body.input_file_id).slice(0, 200)}`
    throw new SimulatorError(400, message, { param: 'input_file_id' })
  }
  const own = call.seed.fork('batch', batches.made)
  const id = `batch_${own.hex(32)}`
  const batch = { polls: 0, cancelled: false, request: call.body, outputs: [], created: own.created() }
  batches.put(id, batch)
  return json(batchObject(id, batch, call))
})

const list = endpoint(compatible, 'GET /v1/batches', () =>
  json({ object: 'list', data: [], first_id: null, last_id: null, has_more: false }),
)

/** `GET /v1/batches/{id}`: each look brings it on. */
const retrieve = endpoint(compatible, 'GET /v1/batches/{id}', call => {
  const batch = looked(known(call), batch => run(batch, call))
  call.memory.storage.batches.put(call.parameter, batch)
  return json(batchObject(call.parameter, batch, call))
})

const cancel = endpoint(compatible, 'POST /v1/batches/{id}/cancel', call => {
  const before = known(call)
  if (isDone(before)) throw new SimulatorError(409, 'A batch that is completed cannot be cancelled.')
  const batch = { ...before, cancelled: true }
  call.memory.storage.batches.put(call.parameter, batch)
  return json(batchObject(call.parameter, batch, call))
})

export const BATCHES: readonly Protocol[] = [create, list, cancel, retrieve]

/** Answers every line of the input and keeps the answers as files: those that are well, and those that are not. */
function run(batch: StoredBatch, call: Call): StoredBatch {
  const well: string[] = []
  const ill: string[] = []
  for (const [index, line] of linesOf(batch, call).entries()) {
    const { custom_id = null, url, body = {} } = line
    const { status, requestId, body: answered } = call.inner(String(url), body)
    const id = `batch_req_${call.seed.fork('line', index).hex(24)}`
    const response = { status_code: status, request_id: requestId, body: answered }
    ;(status < 400 ? well : ill).push(JSON.stringify({ id, custom_id, response, error: null }))
  }
  return { ...batch, outputs: [output(well, 'output'), output(ill, 'error')] }

  function output(lines: readonly string[], what: string): string | undefined {
    if (lines.length === 0) return undefined
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    const name = `${call.parameter}_${what}.jsonl`
    return keep(call, { name, type: 'application/jsonl', purpose: 'batch_output', bytes }).id
  }
}

function linesOf({ request }: StoredBatch, { memory }: Call): readonly JsonObject[] {
  const file = memory.storage.files.get(String(request.input_file_id))
  return file === undefined ? [] : parseLines(file.bytes)
}

function known({ parameter: id, memory }: Call): StoredBatch {
  const batch = memory.storage.batches.get(id)
  if (batch !== undefined) return batch
  throw new SimulatorError(404, `No batch found with id '${id.slice(0, 200)}'.`)
}

function batchObject(id: string, batch: StoredBatch, call: Call) {
  const { request, created, polls, cancelled, outputs } = batch
  const done = isDone(batch)
  const total = polls === 0 && !cancelled ? 0 : linesOf(batch, call).length
  const failed = done && outputs[1] !== undefined ? lineCount(outputs[1], call) : 0
  return {
    id,
    object: 'batch',
    endpoint: request.endpoint,
    errors: null,
    input_file_id: request.input_file_id,
    completion_window: request.completion_window,
    status: cancelled ? 'cancelled' : done ? 'completed' : polls > 0 ? 'in_progress' : 'validating',
    output_file_id: outputs[0] ?? null,
    error_file_id: outputs[1] ?? null,
    created_at: created,
    in_progress_at: polls > 0 ? created + 1 : null,
    expires_at: created + DAY_SECONDS,
    finalizing_at: done ? created + 2 : null,
    completed_at: done ? created + 3 : null,
    failed_at: null,
    expired_at: null,
    cancelling_at: cancelled ? created + 1 : null,
    cancelled_at: cancelled ? created + 2 : null,
    request_counts: { total, completed: done ? total - failed : 0, failed },
    metadata: request.metadata ?? null,
  }
}

function lineCount(file: string, { memory }: Call): number {
  return (memory.storage.files.get(file)?.bytes.toString('utf8').split('\n').length ?? 1) - 1
}
