import type { JsonObject } from '../core/json.js'
import { parseBody } from './body.js'
import { SimulatorError } from './errors.js'
import { readModelName } from './faults/read.js'
import { type Faults, NO_FAULTS } from './faults/table.js'
import { type FormFile, isForm, parseForm } from './form.js'
import type { Memory } from './memory.js'
import type { Answer, Protocol, RequestHeaders } from './protocol.js'
import { type Match, modelsOf } from './routes.js'
import { Seed } from './seed.js'

/** A request that has been read: the faults that its model names, and how it is answered. */
export interface Question {
  readonly faults: Faults
  /** The same for requests that ask for the same, streamed or not, with or without faults. */
  readonly seed: Seed
  readonly requestId: string
  /** Throws {@link SimulatorError} to refuse. */
  readonly answer: (faults: Faults) => Answer
}

/** A request that has been read, but for its body. */
export interface Asked extends Match {
  readonly headers: RequestHeaders
  /** Where the client believes that we are. */
  readonly origin: string
}

/** Never throws: what cannot be understood is a question whose answer is a refusal. */
export function understand(match: Asked, body: Buffer, memory: Memory): Question {
  try {
    return read(match, body, memory)
  } catch (error) {
    return refusing(error, new Seed(match.protocol.path, body))
  }
}

const NOTHING = Buffer.alloc(0)

/** A question that is answered by throwing. */
export function refusing(error: unknown, seed: Seed): Question {
  return {
    faults: NO_FAULTS,
    seed,
    requestId: requestIdOf(seed),
    answer: () => {
      throw error
    },
  }
}

function read({ protocol, parameter: encoded, query, headers, origin }: Asked, read: Buffer, memory: Memory): Question {
  const { model: parameter, faults: inPath } = readModelName(decoded(encoded))
  const { fields: document, files, bytes } = contentOf(protocol, read, headers['content-type'])
  const { model, faults: inBody } = modelIn(document)
  const body = model === undefined ? document : { ...document, model }
  const { stream: _, stream_options: __, ...asked } = body
  const digests = (files ?? []).flatMap(({ name, bytes }) => [name, bytes])
  if (bytes.length > 0) digests.push(bytes)
  const seed = new Seed(protocol.operation ?? protocol.path, parameter, JSON.stringify(asked), ...digests)
  const requestId = requestIdOf(seed)
  const models = modelsOf(protocol.family)
  const call = { parameter, query, body, files, bytes, headers, origin, seed, requestId, models, memory }
  const answer = (faults: Faults) => protocol.answer({ ...call, faults })
  return { faults: { ...inPath, ...inBody }, seed, requestId, answer }
}

interface Content {
  readonly fields: JsonObject
  readonly files: readonly FormFile[] | undefined
  readonly bytes: Buffer
}

function contentOf({ body }: Protocol, bytes: Buffer, contentType: string | undefined): Content {
  const files = undefined
  if (body === 'none') return { fields: {}, files, bytes: NOTHING }
  if (body === 'bytes') return { fields: {}, files, bytes }
  const isJson = body === 'json' || (body === 'form-or-json' && !isForm(contentType))
  if (isJson) return { fields: parseBody(bytes), files, bytes: NOTHING }
  return { ...parseForm(bytes, contentType), bytes: NOTHING }
}

function requestIdOf(seed: Seed): string {
  return `req_${seed.fork('request').hex(32)}`
}

function modelIn({ model }: JsonObject): { model: string | undefined; faults: Faults } {
  return typeof model === 'string' ? readModelName(model) : { model: undefined, faults: NO_FAULTS }
}

function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter)
  } catch {
    throw new SimulatorError(400, 'The path is not well encoded.')
  }
}
