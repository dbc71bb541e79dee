import { SimulatorError } from '../../errors.js'
import { badField, native } from '../../families/native.js'
import { isObject, type Json, type JsonObject, parseLines } from '../../json.js'
import { type Call, endpoint, type InnerAnswer, json, type Protocol } from '../../protocol.js'
import { isDone, looked, type StoredBatch } from '../../storage.js'
import { keepNative } from '../files/native.js'

const TYPE = 'type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch'

/** `POST /v1beta/models/{model}:batchGenerateContent`: with the requests in it, or in a file. */
const create = endpoint(native, 'POST /v1beta/models/{model}:batchGenerateContent', { body: 'json' }, call => {
  const { body, parameter: model, memory, seed } = call
  if (requestsOf(body, call) === undefined) throw badField('batch.input_config', 'must be specified')
  const { nativeBatches } = memory.storage
  const own = seed.fork('batch', nativeBatches.made)
  const id = own.hex(32)
  const request = { ...body, model }
  const batch = { polls: 0, cancelled: false, request, outputs: [], created: own.created() }
  nativeBatches.put(id, batch)
  return json(operation(id, batch, call))
})

const list = endpoint(native, 'GET /v1beta/batches', () => json({}))

/** `GET /v1beta/batches/{id}`: each look brings it on. */
const get = endpoint(native, 'GET /v1beta/batches/{id}', call => {
  const batch = looked(known(call), batch => filed(batch, call))
  call.memory.storage.nativeBatches.put(call.parameter, batch)
  return json(operation(call.parameter, batch, call))
})

const cancel = endpoint(native, 'POST /v1beta/batches/{id}:cancel', call => {
  call.memory.storage.nativeBatches.put(call.parameter, { ...known(call), cancelled: true })
  return json({})
})

const remove = endpoint(native, 'DELETE /v1beta/batches/{id}', call => {
  known(call)
  call.memory.storage.nativeBatches.drop(call.parameter)
  return json({})
})

export const NATIVE_BATCHES: readonly Protocol[] = [create, list, cancel, get, remove]

function known({ parameter: id, memory }: Call): StoredBatch {
  const batch = memory.storage.nativeBatches.get(id)
  if (batch !== undefined) return batch
  throw new SimulatorError(404, `Requested entity was not found: batches/${id.slice(0, 200)}`)
}

/** The requests, each with what its sender notes beside it; nothing where there are none. */
function requestsOf(body: JsonObject, { memory }: Call): readonly JsonObject[] | undefined {
  const input = configOf(body)
  const inline = isObject(input?.requests) ? input.requests.requests : undefined
  if (Array.isArray(inline)) return inline.filter(isObject)
  const name = input?.fileName ?? input?.file_name
  const file = typeof name === 'string' ? memory.storage.nativeFiles.get(name.replace(/^files\//, '')) : undefined
  return file && parseLines(file.bytes)
}

function configOf({ batch }: JsonObject): JsonObject | undefined {
  const input = isObject(batch) ? (batch.inputConfig ?? batch.input_config) : undefined
  return isObject(input) ? input : undefined
}

function answersOf({ request }: StoredBatch, call: Call): readonly JsonObject[] {
  return (requestsOf(request, call) ?? []).map(({ request: asked = {}, key, metadata }) => {
    const { model: _, ...body } = isObject(asked) ? asked : {}
    const answered = call.inner(`/v1beta/models/${String(request.model)}:generateContent`, body)
    return {
      ...(key === undefined ? {} : { key }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(answered.status < 400 ? { response: answered.body } : { error: nativeError(answered) }),
    }
  })
}

/** Where the requests came in a file, so do the answers. */
function filed(batch: StoredBatch, call: Call): StoredBatch {
  if (configOf(batch.request)?.requests !== undefined) return batch
  const lines = answersOf(batch, call).map(answer => `${JSON.stringify(answer)}\n`)
  const file = keepNative(call, { name: '', type: 'application/jsonl', bytes: Buffer.from(lines.join('')) })
  return { ...batch, outputs: [`files/${file.id}`] }
}

function operation(id: string, batch: StoredBatch, call: Call) {
  const { request, created, polls, cancelled, outputs } = batch
  const done = cancelled || isDone(batch)
  const state = cancelled ? 'CANCELLED' : done ? 'SUCCEEDED' : polls > 0 ? 'RUNNING' : 'PENDING'
  const count = requestsOf(request, call)?.length ?? 0
  const time = new Date(created * 1000).toISOString()
  const output = done && !cancelled ? outputOf(batch, call) : undefined
  const asked = isObject(request.batch) ? request.batch : {}
  return {
    name: `batches/${id}`,
    metadata: {
      '@type': TYPE,
      model: `models/${String(request.model)}`,
      displayName: asked.displayName ?? asked.display_name,
      state: `BATCH_STATE_${state}`,
      createTime: time,
      updateTime: time,
      endTime: done ? time : undefined,
      batchStats: {
        requestCount: String(count),
        [done ? 'successfulRequestCount' : 'pendingRequestCount']: String(count),
      },
      output,
      name: `batches/${id}`,
    },
    done: done ? true : undefined,
    response: output === undefined ? undefined : { '@type': TYPE.replace(/Batch$/, 'BatchOutput'), ...output },
  }

  function outputOf(all: StoredBatch, asker: Call): object {
    if (outputs[0] !== undefined) return { responsesFile: outputs[0] }
    return { inlinedResponses: { inlinedResponses: answersOf(all, asker) } }
  }
}

/** The error in a refusal of the native family. */
function nativeError({ body }: InnerAnswer): Json {
  return isObject(body) && body.error !== undefined ? body.error : (native.body(native.usual(500), '') as Json)
}
