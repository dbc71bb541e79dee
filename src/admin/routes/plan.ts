import type { ListenConfig } from '../../core/process-config.js'
import { groupFacts, keyFacts, modelFacts, requestFacts, upstreamFacts } from '../../plan/explain.js'
import { callerNamed } from '../callers.js'
import { AdminError, type AdminRoute, COUNT, FLAG, objectOf, type Schema, TEXT } from '../route.js'

/** Largest body to explain, bytes. */
const MAX_TEXT_BYTES = 2 * 1024 * 1024
/** Entries of a section in one answer. */
const MAX_ENTRIES = 500

const LIST: Schema = { type: 'array', items: { type: 'object' } }

export const plan: AdminRoute = {
  method: 'GET',
  path: '/admin/plan',
  summary: `What leads where: keys, groups, models with their targets, and upstreams of the plan in service; at most ${MAX_ENTRIES} of each.`,
  status: 200,
  answer: objectOf({
    generation: COUNT,
    digest: TEXT,
    base: TEXT,
    keys: LIST,
    groups: LIST,
    models: LIST,
    upstreams: LIST,
  }),
  async handle(_request, { plan, config, kernel }) {
    const first = <T, F>(all: Readonly<Record<string, T>>, facts: (name: string, one: T) => F): readonly F[] =>
      Object.keys(all)
        .slice(0, MAX_ENTRIES)
        .map(name => facts(name, all[name] as T))
    return {
      generation: kernel.generation.number,
      digest: plan.digest,
      base: baseOf(plan.listen),
      keys: first(config.keys, keyFacts).map(({ secrets: _, ...key }) => key),
      groups: first(config.groups, groupFacts),
      models: first(config.models, (name, model) => modelFacts(name, model, plan)),
      upstreams: [...plan.upstreams.values()].slice(0, MAX_ENTRIES).map(one => upstreamFacts(one, config)),
    }
  },
}

/** Where clients on this machine call. */
function baseOf({ host, port, tls }: ListenConfig): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `${tls === undefined ? 'http' : 'https'}://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}

export const explain: AdminRoute = {
  method: 'POST',
  path: '/admin/explain',
  summary:
    'What would become of a request. Nothing is sent. body: the text of the body; it says model and stream itself.',
  body: objectOf({ method: TEXT, path: TEXT, key: TEXT, model: TEXT, stream: FLAG, body: TEXT }, ['method', 'path']),
  status: 200,
  answer: { type: 'object' },
  isReading: true,
  maxBytes: MAX_TEXT_BYTES,
  async handle({ body }, host) {
    const { method, path, key, model, body: text } = body
    if (typeof method !== 'string' || typeof path !== 'string' || !path.startsWith('/'))
      throw new AdminError(400, 'invalid_request', 'method and path are texts, and the path begins with /')
    const caller = typeof key === 'string' ? await callerNamed(key, host) : undefined
    return requestFacts(host.plan, {
      method: method.toUpperCase(),
      path,
      ...(caller === undefined ? {} : { caller, key: caller.name }),
      ...(typeof model === 'string' ? { model } : {}),
      stream: body.stream === true,
      ...(typeof text === 'string' ? { body: text } : {}),
    })
  },
}
