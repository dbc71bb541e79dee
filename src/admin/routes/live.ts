import { setTimeout as delay } from 'node:timers/promises'
import { RANGES, type Range } from '../../features/console/history.js'
import { faultOf, STATUS_PATTERN } from '../../features/tail/filter.js'
import type { AdminHost } from '../host.js'
import { pageOf } from '../pages.js'
import { AdminError, type AdminRoute, FLAG, type Schema, type StreamAnswer, TEXT } from '../route.js'

const EVERY_MS = 1000
const MAX_READERS = 64
const NUMBERS: Schema = { type: 'array', items: { type: ['number', 'null'] } }
/** What is counted by name, by the words of a query. */
export const KINDS = { key: 'keys', group: 'groups', model: 'models', upstream: 'upstreams' } as const

let readers = 0
/** What all readers of one second get. */
let latest: { readonly second: number; readonly text: Promise<string> } | undefined

export const live: AdminRoute = {
  method: 'GET',
  path: '/admin/live',
  summary:
    'What the gateway does, as server-sent events: stats, once a second, with rates of the last ten seconds. Times in milliseconds: p50, p95, p99.',
  status: 200,
  answer: TEXT,
  stream: 'text/event-stream',
  async handle(_request, host): Promise<StreamAnswer> {
    if (readers >= MAX_READERS) throw new AdminError(503, 'too_many_readers', 'too many look already')
    return { pieces: stats(host) }
  },
}

async function* stats(host: AdminHost): AsyncGenerator<string, void, void> {
  readers++
  try {
    for (;;) {
      yield await shared(host)
      await delay(EVERY_MS - (Date.now() % EVERY_MS))
    }
  } finally {
    readers--
  }
}

function shared(host: AdminHost): Promise<string> {
  const second = Math.floor(Date.now() / EVERY_MS)
  if (latest?.second !== second) {
    const text = host
      .watched()
      .live()
      .then(stats => {
        const resting = [...host.health()].map(([upstream, { state, until, reason }]) => ({
          upstream,
          state,
          until,
          reason,
        }))
        return `event: stats\ndata: ${JSON.stringify({ ...stats, resting })}\n\n`
      })
    latest = { second, text }
  }
  return latest.text
}

export const series: AdminRoute = {
  method: 'GET',
  path: '/admin/series',
  summary:
    'What requests of a time came to, in columns of equal steps, and their totals by model, upstream and key. by: also the columns of the 20 names of a kind that had most requests, and of all others together (other). Times in milliseconds; null: nothing was measured. Kept in the store, of all processes.',
  query: { range: { type: 'string', enum: [...RANGES] }, by: { type: 'string', enum: Object.keys(KINDS) } },
  status: 200,
  answer: { type: 'object', properties: { step: { type: 'number' }, t: NUMBERS, requests: NUMBERS } },
  async handle({ query: { range, by } }, host) {
    const kind = Object.entries(KINDS).find(([name]) => name === by)?.[1]
    if (by !== undefined && kind === undefined)
      throw new AdminError(400, 'invalid_parameter', `by: expected one of ${Object.keys(KINDS).join(', ')}`)
    return await host.watched().series(rangeOf(range), kind)
  },
}

/** The range of a query. Throws {@link AdminError}. */
export function rangeOf(text: string | undefined): Range {
  const range = RANGES.find(one => one === (text ?? '15m'))
  if (range !== undefined) return range
  throw new AdminError(400, 'invalid_parameter', `range: expected one of ${RANGES.join(', ')}`)
}

export const requests: AdminRoute = {
  method: 'GET',
  path: '/admin/requests',
  summary:
    'The latest requests, newest first, with the members of their log lines. status: 404 or 5xx; slow: at least so many milliseconds.',
  query: {
    limit: { type: 'integer', minimum: 1, maximum: 500 },
    ...{ key: TEXT, model: TEXT, upstream: TEXT },
    status: { type: 'string', pattern: STATUS_PATTERN },
    slow: { type: 'integer' },
  },
  status: 200,
  answer: pageOf({ type: 'object' }),
  async handle({ query: { limit = '100', slow, status, ...names } }, host) {
    const most = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
    if (most < 1 || most > 500) throw new AdminError(400, 'invalid_parameter', 'limit: expected a number from 1 to 500')
    const fault = faultOf(status, slow)
    if (fault !== undefined) throw new AdminError(400, 'invalid_parameter', fault)
    const query = {
      ...names,
      limit: most,
      ...(status === undefined ? {} : { status }),
      ...(slow === undefined ? {} : { slow: Number(slow) }),
    }
    return { data: await host.watched().requests(query) }
  },
}

export const request: AdminRoute = {
  method: 'GET',
  path: '/admin/requests/{id}',
  summary:
    'One of the latest requests, by its id or that of its trace: its log line, the times of its attempts since it arrived in milliseconds, and in detail its headers without secrets (of those that failed and of the first 20 of each second), what became of each field of a translated request, and, of keys with capture, its content. withheld: there is content, which sessions that only look do not get.',
  status: 200,
  answer: {
    type: 'object',
    properties: { line: { type: 'object' }, steps: { type: 'array' }, detail: { type: 'object' }, withheld: FLAG },
  },
  async handle({ params: { id = '' }, session }, host) {
    const found = await host.watched().request(id)
    if (found === undefined)
      throw new AdminError(404, 'not_found', 'none of the latest requests has this id; the log may have it')
    if (session?.role !== 'viewer' || found.detail.content === undefined) return found
    const { content: _, ...detail } = found.detail
    return { ...found, detail, withheld: true }
  },
}
