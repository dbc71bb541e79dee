import type { JsonObject } from '../core/json.js'
import { parseBody } from './body.js'
import { SimulatorError } from './errors.js'
import { readModelName } from './faults/read.js'
import { type Faults, NO_FAULTS } from './faults/table.js'
import type { Memory } from './memory.js'
import type { Answer } from './protocol.js'
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

/** Never throws: what cannot be understood is a question whose answer is a refusal. */
export function understand(match: Match, body: Buffer, memory: Memory): Question {
  try {
    return read(match, body, memory)
  } catch (error) {
    return refusing(error, new Seed(match.protocol.path, body))
  }
}

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

function read({ protocol, parameter: encoded, query }: Match, bytes: Buffer, memory: Memory): Question {
  const { model: parameter, faults: inPath } = readModelName(decoded(encoded))
  const document = protocol.body === 'json' ? parseBody(bytes) : {}
  const { model, faults: inBody } = modelIn(document)
  const body = model === undefined ? document : { ...document, model }
  const { stream: _, stream_options: __, ...asked } = body
  const seed = new Seed(protocol.operation ?? protocol.path, parameter, JSON.stringify(asked))
  const requestId = requestIdOf(seed)
  const call = { parameter, query, body, seed, requestId, models: modelsOf(protocol.family), memory }
  const answer = (faults: Faults) => protocol.answer({ ...call, faults })
  return { faults: { ...inPath, ...inBody }, seed, requestId, answer }
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
