import { SimulatorError } from './errors.js'
import { compatibleErrors } from './families/compatible.js'
import type { Protocol } from './protocol.js'
import { chat } from './protocols/chat/index.js'
import { completions } from './protocols/completions/index.js'
import { embeddings } from './protocols/embeddings/index.js'
import { modelById, modelList } from './protocols/models.js'
import { moderations } from './protocols/moderations/index.js'
import { responses } from './protocols/responses/index.js'

/** All that the simulator speaks. */
const PROTOCOLS: readonly Protocol[] = [chat, completions, embeddings, moderations, responses, modelList, modelById]

/** Models that the simulator lists. */
export const MODELS: readonly string[] = [...new Set(PROTOCOLS.flatMap(protocol => protocol.models))]

export interface Match {
  readonly protocol: Protocol
  /** The text in the place of the path's parameter, still encoded. */
  readonly parameter: string
}

/** Finds who answers; where nobody does, it is one who refuses. `target` is the path with its query. */
export function route(method: string, target: string): Match {
  const [path = ''] = target.split('?', 1)
  const owners = PROTOCOLS.flatMap(protocol => {
    const parameter = parameterOf(protocol.path, path)
    return parameter === undefined ? [] : [{ protocol, parameter }]
  })
  const owner = owners.find(({ protocol }) => protocol.method === method)
  return owner ?? { protocol: nobody(method, path, owners), parameter: '' }
}

/** Empty where the pattern has no parameter; nothing where the path does not fit. */
function parameterOf(pattern: string, path: string): string | undefined {
  const [start = '', end] = pattern.split(/\{\w+\}/)
  if (end === undefined) return path === start ? '' : undefined
  const fits = path.startsWith(start) && path.endsWith(end) && path.length > start.length + end.length
  return fits ? path.slice(start.length, path.length - end.length) : undefined
}

function nobody(method: string, path: string, owners: readonly Match[]): Protocol {
  const errors = owners[0]?.protocol.errors ?? compatibleErrors
  const allowed = owners.map(({ protocol }) => protocol.method).join(', ')
  return { method, path, body: 'none', errors, models: [], answer: () => refuse(method, path, allowed) }
}

function refuse(method: string, path: string, allowed: string): never {
  if (allowed === '')
    throw new SimulatorError(404, `Invalid URL (${method} ${path})`, { type: 'invalid_request_error' })
  throw new SimulatorError(405, `Only ${allowed} requests are accepted.`, {
    code: 'method_not_supported',
    headers: { allow: allowed },
  })
}
