import { isObject, type Json } from '../../../core/json.js'
import { refusal } from '../../delivery/substitute.js'
import { SimulatorError } from '../../errors.js'
import { native } from '../../families/native.js'
import type { Call } from '../../protocol.js'
import { understand } from '../../question.js'
import { route } from '../../routes.js'

export interface Answered {
  readonly status: number
  readonly requestId: string
  readonly body: Json
}

/** Answers one request of a batch as it would be answered by itself. */
export function answerInner(path: string, body: Json, { memory, tasks, now }: Call): Answered {
  const headers = { 'content-type': 'application/json' }
  const match = route('POST', path, headers)
  const known = { memory, tasks, now, headers, origin: '' }
  const { answer, requestId, faults } = understand(match, Buffer.from(JSON.stringify(body)), known)
  const { family } = match.protocol
  try {
    if ((faults.status ?? 200) >= 400) throw family.usual(faults.status ?? 500)
    const made = answer(faults)
    if (made.kind === 'document') return { status: made.status, requestId, body: parsed(made.body) }
    throw new SimulatorError(400, 'Requests of a batch cannot be streamed.')
  } catch (error) {
    if (!(error instanceof SimulatorError)) throw error
    return { status: error.status, requestId, body: parsed(refusal(error, family, requestId).body) }
  }
}

/** The error in a refusal of the native family. */
export function nativeError({ body }: Answered): Json {
  return isObject(body) && body.error !== undefined ? body.error : (native.body(native.usual(500), '') as Json)
}

function parsed(body: Buffer): Json {
  return JSON.parse(body.toString('utf8')) as Json
}
