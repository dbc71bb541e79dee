import { SimulatorError } from '../../errors.js'
import { invalid, messageBlocks } from '../../families/messages.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import { isDone, looked, type StoredBatch } from '../../storage.js'

const PATH = '/v1/messages/batches'
const MAX_REQUESTS = 100_000
const ID = /^[\w-]{1,64}$/
const DAY_MS = 86_400_000

/** `POST /v1/messages/batches`. */
const create = endpoint(messageBlocks, `POST ${PATH}`, { body: 'json' }, call => {
  checkRequests(call.body.requests)
  const { messageBatches } = call.memory.storage
  const own = call.seed.fork('batch', messageBatches.made)
  const id = `msgbatch_${own.letters(24)}`
  const batch = { polls: 0, cancelled: false, request: call.body, outputs: [], created: own.created() }
  messageBatches.put(id, batch)
  return json(batchObject(id, batch, call))
})

function checkRequests(requests: Json | undefined): void {
  if (requests === undefined) throw invalid('requests', 'Field required')
  if (!Array.isArray(requests)) throw invalid('requests', 'Input should be a valid list')
  if (requests.length === 0) throw invalid('requests', 'List should have at least 1 item after validation, not 0')
  if (requests.length > MAX_REQUESTS) throw invalid('requests', `List should have at most ${MAX_REQUESTS} items`)
  const known = new Set<string>()
  for (const [index, request] of requests.entries()) {
    const { custom_id: id, params } = isObject(request) ? request : {}
    if (typeof id !== 'string' || !ID.test(id))
      throw invalid(`requests.${index}.custom_id`, "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
    if (known.has(id)) throw invalid('requests', `Duplicate custom_id: ${id}`)
    known.add(id)
    if (!isObject(params)) throw invalid(`requests.${index}.params`, 'Field required')
  }
}

const list = endpoint(messageBlocks, `GET ${PATH}`, call => {
  const data = call.memory.storage.messageBatches
    .entries()
    .toReversed()
    .map(([id, batch]) => batchObject(id, batch, call))
  return json({ data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null })
})

/** `GET /v1/messages/batches/{id}`: each look brings it on. */
const retrieve = endpoint(messageBlocks, `GET ${PATH}/{id}`, call => {
  const before = known(call)
  // One that is cancelled ends, too.
  const batch = before.cancelled ? { ...before, polls: before.polls + 1 } : looked(before, one => one)
  call.memory.storage.messageBatches.put(call.parameter, batch)
  return json(batchObject(call.parameter, batch, call))
})

/** `POST /v1/messages/batches/{id}/cancel`. */
const cancel = endpoint(messageBlocks, `POST ${PATH}/{id}/cancel`, call => {
  const before = known(call)
  if (isOver(before)) throw new SimulatorError(400, 'Batch has already ended and cannot be canceled.')
  const batch = { ...before, cancelled: true, polls: 0 }
  call.memory.storage.messageBatches.put(call.parameter, batch)
  return json(batchObject(call.parameter, batch, call))
})

/** `DELETE /v1/messages/batches/{id}`. */
const remove = endpoint(messageBlocks, `DELETE ${PATH}/{id}`, call => {
  if (!isOver(known(call))) {
    throw new SimulatorError(400, 'Batch is still in progress. Cancel it, and delete it when it has ended.')
  }
  call.memory.storage.messageBatches.drop(call.parameter)
  return json({ id: call.parameter, type: 'message_batch_deleted' })
})

/** `GET /v1/messages/batches/{id}/results`: a line of JSON for each request. */
const results = endpoint(messageBlocks, `GET ${PATH}/{id}/results`, call => {
  const batch = known(call)
  if (!isOver(batch)) throw new SimulatorError(400, 'Batch has not ended, and has no results yet.')
  const lines = requestsOf(batch).map(
    request => `${JSON.stringify({ custom_id: request.custom_id, result: resultOf(request, batch, call) })}\n`,
  )
  const headers = { 'content-type': 'application/x-jsonl' }
  return { kind: 'document', status: 200, headers, body: Buffer.from(lines.join('')) }
})

export const MESSAGE_BATCHES: readonly Protocol[] = [create, list, cancel, results, retrieve, remove]

function known({ parameter: id, memory }: Call): StoredBatch {
  const batch = memory.storage.messageBatches.get(id)
  if (batch !== undefined) return batch
  throw new SimulatorError(404, `Message batch not found: ${id.slice(0, 200)}`)
}

/** One that is cancelled is over once it has been looked at. */
function isOver(batch: StoredBatch): boolean {
  return batch.cancelled ? batch.polls > 0 : isDone(batch)
}

function requestsOf({ request }: StoredBatch): readonly JsonObject[] {
  return Array.isArray(request.requests) ? request.requests.filter(isObject) : []
}

function resultOf({ params = {} }: JsonObject, { cancelled }: StoredBatch, call: Call): JsonObject {
  if (cancelled) return { type: 'canceled' }
  const { status, body } = call.inner('/v1/messages', params)
  return status < 400 ? { type: 'succeeded', message: body } : { type: 'errored', error: body }
}

function batchObject(id: string, batch: StoredBatch, call: Call) {
  const { created, cancelled, request } = batch
  const over = isOver(batch)
  const kinds = over ? requestsOf(batch).map(one => resultOf(one, batch, call).type) : []
  const count = (type: string): number => kinds.filter(kind => kind === type).length
  const all = Array.isArray(request.requests) ? request.requests.length : 0
  const at = (seconds: number): string => new Date((created + seconds) * 1000).toISOString()
  return {
    id,
    type: 'message_batch',
    processing_status: over ? 'ended' : cancelled ? 'canceling' : 'in_progress',
    request_counts: {
      processing: over ? 0 : all,
      succeeded: count('succeeded'),
      errored: count('errored'),
      canceled: count('canceled'),
      expired: 0,
    },
    created_at: at(0),
    expires_at: new Date(created * 1000 + DAY_MS).toISOString(),
    ended_at: over ? at(3) : null,
    cancel_initiated_at: cancelled ? at(1) : null,
    archived_at: null,
    results_url: over ? `${call.origin}${PATH}/${id}/results` : null,
  }
}
