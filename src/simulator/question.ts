import type { JsonObject } from '../core/json.js'
import { parseBody } from './body.js'
import { SimulatorError } from './errors.js'
import { askedOf, readModelName } from './faults/read.js'
import { type Faults, NO_FAULTS } from './faults/table.js'
import { type FormFile, isForm, parseForm } from './form.js'
import type { Answer, Call, Protocol } from './protocol.js'
import { type Match, modelsOf } from './routes.js'
import { Seed } from './seed.js'

/** A request that has been read: the faults that its model names, and how it is answered. */
export interface Question {
  readonly faults: Faults
  /** What their strikes are counted for. */
  readonly scope: string
  /** The same for requests that ask for the same, streamed or not, with or without faults. */
  readonly seed: Seed
  readonly requestId: string
  /** Throws {@link SimulatorError} to refuse. */
  readonly answer: (faults: Faults) => Answer
}

/** What is known besides the request itself. */
export type Knowledge = Pick<Call, 'memory' | 'tasks' | 'now' | 'headers' | 'origin'>

/** Never throws: what cannot be understood is a question whose answer is a refusal. */
export function understand(match: Match, body: Buffer, known: Knowledge): Question {
  try {
    return read(match, body, known)
  } catch (error) {
    return refusing(error, new Seed(match.protocol.path, body))
  }
}

const NOTHING = Buffer.alloc(0)

/** A question that is answered by throwing. */
export function refusing(error: unknown, seed: Seed): Question {
  return {
    faults: NO_FAULTS,
    scope: '',
    seed,
    requestId: requestIdOf(seed),
    answer: () => {
      throw error
    },
  }
}

function read({ protocol, parameter: encoded, query }: Match, sent: Buffer, known: Knowledge): Question {
  const { model: parameter, faults: inPath, asked: path } = readModelName(decoded(encoded))
  const { fields: document, files, bytes } = contentOf(protocol, sent, known.headers['content-type'])
  const { model, faults: inBody, asked: name } = modelIn(document)
  const body = model === undefined ? document : { ...document, model }
  const { stream: _, stream_options: __, ...rest } = body
  const digests = (files ?? []).flatMap(({ name, bytes }) => [name, bytes])
  if (bytes.length > 0) digests.push(bytes)
  const seed = new Seed(protocol.operation ?? protocol.path, parameter, JSON.stringify(rest), ...digests)
  const requestId = requestIdOf(seed)
  const asked = [askedOf(known.headers['x-simulate']), path, name].filter(text => text !== '').join('&')
  const models = modelsOf(protocol.family)
  const call = { ...known, parameter, query, body, files, bytes, asked, seed, requestId, models }
  const answer = (faults: Faults) => protocol.answer({ ...call, faults })
  const { faults, scope = '' } = protocol.recall?.(call) ?? {}
  return { faults: { ...inPath, ...inBody, ...faults }, scope, seed, requestId, answer }
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

function modelIn({ model }: JsonObject): { model: string | undefined; faults: Faults; asked: string } {
  return typeof model === 'string' ? readModelName(model) : { model: undefined, faults: NO_FAULTS, asked: '' }
}

function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter)
  } catch {
    throw new SimulatorError(400, 'The path is not well encoded.')
  }
}
