import type { Config } from '../../core/config.js'
import { masked } from '../masked.js'
import { PAGE_QUERY, pageOfNames } from '../pages.js'
import { AdminError, type AdminRoute, objectOf, TEXT } from '../route.js'

/** Parts with entries by name, of which there may be very many. */
const SECTIONS = ['keys', 'upstreams', 'models', 'routes'] as const satisfies readonly (keyof Config)[]
/** What the gateway ships is not listed. */
const LEFT_OUT = ['protocols', 'resource_kinds', 'task_kinds', 'schemas'] as const satisfies readonly (keyof Config)[]
/** Entries of a section that are shown beside the others. */
const MAX_ENTRIES = 100

export const config: AdminRoute = {
  method: 'GET',
  path: '/admin/config',
  summary: `The configuration in service, secrets masked: all settings and the first ${MAX_ENTRIES} entries of each section, or one section in pages.`,
  query: { ...PAGE_QUERY, section: { type: 'string', enum: [...SECTIONS] } },
  status: 200,
  answer: objectOf({ generation: { type: 'integer' }, digest: TEXT, config: { type: 'object' } }),
  async handle(request, { config, plan, kernel }) {
    const { section } = request.query
    const about = { generation: kernel.generation.number, digest: plan.digest }
    if (section !== undefined) {
      const known = SECTIONS.find(name => name === section)
      if (known === undefined)
        throw new AdminError(400, 'invalid_parameter', `section: expected one of ${SECTIONS.join(', ')}`)
      const entries: Readonly<Record<string, unknown>> = config[known]
      return { ...about, ...pageOfNames(Object.keys(entries), request, name => ({ name, ...entryOf(entries[name]) })) }
    }
    const counts = Object.fromEntries(SECTIONS.map(name => [name, Object.keys(config[name]).length]))
    const shown = Object.entries(config).flatMap(([name, value]) => {
      if (LEFT_OUT.some(one => one === name)) return []
      const entries = SECTIONS.some(one => one === name) ? Object.entries(value).slice(0, MAX_ENTRIES) : undefined
      return [[name, masked(entries === undefined ? value : Object.fromEntries(entries))] as const]
    })
    return { ...about, entries: counts, config: Object.fromEntries(shown) }
  },
}

function entryOf(value: unknown): object {
  return masked(value) as object
}
