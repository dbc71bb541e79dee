import { type Family, SimulatorError } from './errors.js'
import { compatible } from './families/compatible.js'
import { native } from './families/native.js'
import { endpoint, json, type Protocol, type RequestHeaders } from './protocol.js'
import { BATCHES } from './protocols/batches/index.js'
import { MESSAGE_BATCHES } from './protocols/batches/messages.js'
import { NATIVE_BATCHES } from './protocols/batches/native.js'
import { chat } from './protocols/chat/index.js'
import { completions } from './protocols/completions/index.js'
import { CONVERSE } from './protocols/converse/index.js'
import { embeddings } from './protocols/embeddings/index.js'
import { FILES } from './protocols/files/index.js'
import { MESSAGE_FILES } from './protocols/files/messages.js'
import { NATIVE_FILES } from './protocols/files/native.js'
import { UPLOADS } from './protocols/files/uploads.js'
import { GENERATE } from './protocols/generate/index.js'
import { edits, variations } from './protocols/images/edits.js'
import { images } from './protocols/images/index.js'
import { IMAGINE } from './protocols/imagine/index.js'
import { MESSAGES } from './protocols/messages/index.js'
import { INVOKE } from './protocols/messages/invoke.js'
import { moderations } from './protocols/moderations/index.js'
import { realtime } from './protocols/realtime/index.js'
import { RERANK } from './protocols/rerank/index.js'
import { RESPONSES } from './protocols/responses/index.js'
import { speech } from './protocols/speech/index.js'
import { TRANSCRIBE } from './protocols/transcribe/index.js'
import { VIDEOS } from './protocols/videos/index.js'
import { EPOCH_SECONDS } from './seed.js'

const modelList = endpoint(compatible, 'GET /v1/models', ({ models }) =>
  json({ object: 'list', data: models.map(model) }),
)

const modelById = endpoint(compatible, 'GET /v1/models/{id}', ({ parameter: id }) => json(model(id)))

/** All that the simulator speaks; the docs list it. The first whose path, method and headers fit is the one that answers. */
export const PROTOCOLS: readonly Protocol[] = [
  chat,
  completions,
  embeddings,
  moderations,
  images,
  edits,
  variations,
  speech,
  ...TRANSCRIBE,
  realtime,
  ...VIDEOS,
  ...IMAGINE,
  ...RERANK,
  ...RESPONSES,
  ...MESSAGES,
  ...INVOKE,
  ...CONVERSE,
  ...MESSAGE_BATCHES,
  ...GENERATE,
  ...UPLOADS,
  ...MESSAGE_FILES,
  ...FILES,
  ...BATCHES,
  ...NATIVE_FILES,
  ...NATIVE_BATCHES,
  modelList,
  modelById,
]

/** Models that the simulator lists for a family. */
export function modelsOf(family: Family): readonly string[] {
  return [...new Set(PROTOCOLS.flatMap(protocol => (protocol.family === family ? (protocol.models ?? []) : [])))]
}

export interface Match {
  readonly protocol: Protocol
  /** The value of the path's parameter, still encoded. */
  readonly parameter: string
  readonly query: URLSearchParams
}

/** The speed of image tasks, which makes no difference here. */
const MODE = /^\/(?:mj-)?(?:fast|relax|turbo)(?=\/mj\/)/

/** Finds the operation of a request, or one that refuses it. `target` is the path with its query. */
export function route(method: string, target: string, headers: RequestHeaders): Match {
  const [whole = ''] = target.split('?', 1)
  const query = new URLSearchParams(target.slice(whole.length))
  const path = whole.replace(MODE, '')
  const owners = PROTOCOLS.flatMap(protocol => {
    const parameter = parameterOf(protocol.path, path)
    return parameter === undefined || protocol.serves?.(headers, query, parameter) === false
      ? []
      : [{ protocol, parameter, query }]
  })
  const wanted = method === 'HEAD' ? 'GET' : method
  const owner = owners.find(({ protocol }) => protocol.method === wanted)
  return owner ?? { protocol: nobody(method, path, owners), parameter: '', query }
}

/** The text of the last parameter; empty where the pattern has none, nothing where the path does not fit. */
function parameterOf(pattern: string, path: string): string | undefined {
  const [start = '', ...rest] = pattern.split(/\{\w+\}/)
  const end = rest.pop()
  if (end === undefined) return path === start ? '' : undefined
  if (!path.startsWith(start)) return undefined
  let from = start.length
  for (const between of rest) {
    const at = path.indexOf(between, from + 1)
    if (at < 0) return undefined
    from = at + between.length
  }
  return path.endsWith(end) && path.length > from + end.length ? path.slice(from, path.length - end.length) : undefined
}

function nobody(method: string, path: string, owners: readonly Match[]): Protocol {
  const family = owners[0]?.protocol.family ?? (path.startsWith('/v1beta/') ? native : compatible)
  const allowed = [...new Set(owners.map(({ protocol }) => protocol.method))].join(', ')
  return { method, path, family, answer: () => refuse(method, path, allowed) }
}

function refuse(method: string, path: string, allowed: string): never {
  if (allowed === '')
    throw new SimulatorError(404, `Invalid URL (${method} ${path})`, { type: 'invalid_request_error' })
  throw new SimulatorError(405, `Only ${allowed} requests are accepted.`, {
    code: 'method_not_supported',
    headers: { allow: allowed },
  })
}

function model(id: string): object {
  return { id, object: 'model', created: EPOCH_SECONDS, owned_by: 'simulator' }
}
