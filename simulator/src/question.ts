import { parseBody } from './body.js'
import { refusal } from './delivery/substitute.js'
import { SimulatorError } from './errors.js'
import { askedOf, readModelName } from './faults/read.js'
import { type Faults, NO_FAULTS } from './faults/table.js'
import { type FormFile, isForm, parseForm } from './form.js'
import type { Json, JsonObject } from './json.js'
import type { Answer, Call, InnerAnswer, Protocol } from './protocol.js'
import { type Match, modelsOf, route } from './routes.js'
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
type Knowledge = Pick<Call, 'memory' | 'tasks' | 'now' | 'headers' | 'origin'>

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
  const call = {
    ...known,
    parameter,
    query,
    body,
    files,
    bytes,
    asked,
    seed,
    requestId,
    models,
    inner: answerInner(known),
  }
  const answer = (faults: Faults) => protocol.answer({ ...call, faults })
  const { faults, scope = '' } = protocol.recall?.(call) ?? {}
  return { faults: { ...inPath, ...inBody, ...faults }, scope, seed, requestId, answer }
}

/** Answers one request of a batch as it would be answered by itself. */
function answerInner({ memory, tasks, now }: Knowledge): Call['inner'] {
  return (path, body) => {
    const headers = { 'content-type': 'application/json' }
    const match = route('POST', path, headers)
    const sent = Buffer.from(JSON.stringify(body))
    const { answer, requestId, faults } = understand(match, sent, { memory, tasks, now, headers, origin: '' })
    const { family } = match.protocol
    const answered = (status: number, bytes: Buffer): InnerAnswer => ({
      status,
      requestId,
      body: JSON.parse(bytes.toString('utf8')) as Json,
    })
    try {
      if ((faults.status ?? 200) >= 400) throw family.usual(faults.status ?? 500)
      const made = answer(faults)
      if (made.kind === 'document') return answered(made.status, made.body)
      throw new SimulatorError(400, 'Requests of a batch cannot be streamed.')
    } catch (error) {
      if (!(error instanceof SimulatorError)) throw error
      return answered(error.status, refusal(error, family, requestId).body)
    }
  }
}

interface Content {
  readonly fields: JsonObject
  readonly files: readonly FormFile[] | undefined
  readonly bytes: Buffer
}

function contentOf({ body }: Protocol, bytes: Buffer, contentType: string | undefined): Content {
  const files = undefined
  if (body === undefined) return { fields: {}, files, bytes: NOTHING }
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
