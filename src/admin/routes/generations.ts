import type { PastGeneration } from '../host.js'
import { pageOf } from '../pages.js'
import { AdminError, type AdminRoute, COUNT, FLAG, MOMENT, objectOf, type Schema, TEXT } from '../route.js'
import { statesOf } from '../workers.js'
import { answerOf, OUTCOME } from './reload.js'

const SHARE: Schema = { type: 'number' }
const COUNTS = objectOf({ requests: COUNT, failures: COUNT, ttft_p95: COUNT }, ['requests', 'failures'])

const CANARY = objectOf({
  state: { type: 'string', enum: ['running', 'whole', 'back', 'replaced'] },
  share: SHARE,
  until: MOMENT,
  reason: TEXT,
  new: COUNTS,
  old: COUNTS,
})

const DIFFERENCE = objectOf({
  skipped: TEXT,
  changes: COUNT,
  weaker: COUNT,
  loss: COUNT,
  unreachable: COUNT,
  lines: { type: 'array', items: TEXT },
})

const GENERATION = objectOf({
  number: COUNT,
  digest: TEXT,
  serving: FLAG,
  requests: COUNT,
  at: MOMENT,
  origin: { type: 'string', enum: ['start', 'files', 'reload', 'console', 'rollback'] },
  changes: { type: 'object' },
  returnable: FLAG,
  ready: FLAG,
  canary: CANARY,
  difference: DIFFERENCE,
})

interface Shown extends Partial<PastGeneration> {
  readonly number: number
  readonly serving: boolean
  readonly ready: boolean
  readonly requests: number
}

export const generations: AdminRoute = {
  method: 'GET',
  path: '/admin/generations',
  summary:
    'Generations of the configuration since the start, the newest first: when and why each began to serve, what it changed by name (changes) and in meaning (difference), what its canary came to, whether requests may name it (ready), and how many in flight hold it, of all workers together.',
  status: 200,
  answer: pageOf(GENERATION),
  async handle(_request, { kernel, history }) {
    const all = new Map<number, Shown>()
    for (const one of await history()) all.set(one.number, { ...one, serving: false, ready: false, requests: 0 })
    for (const one of (await statesOf(kernel)).flatMap(state => state.generations)) {
      const known = all.get(one.number)
      const requests = (known?.requests ?? 0) + one.requests
      const serving = one.serving || known?.serving === true
      const ready = one.ready || known?.ready === true
      all.set(one.number, { ...one, ...known, serving, ready, requests })
    }
    return { data: [...all.values()].sort((one, other) => other.number - one.number) }
  },
}

export const rollback: AdminRoute = {
  method: 'POST',
  path: '/admin/rollback',
  summary:
    'Serves what the files of the configuration said at an older generation, as a new one. They stay as they are, and are read again when they change. 422: what they said has errors now, and nothing has changed.',
  body: { ...objectOf({ generation: COUNT }, ['generation']), additionalProperties: false },
  status: 200,
  answer: OUTCOME,
  async handle({ body }, host) {
    const number = body.generation
    if (typeof number !== 'number' || !Number.isInteger(number))
      throw new AdminError(400, 'invalid_request', 'generation: expected its number')
    const outcome = await host.rollback(number)
    if (outcome === undefined)
      throw new AdminError(
        404,
        'not_found',
        `generation ${number} is not known: GET /admin/generations lists those that are`,
      )
    return answerOf(outcome, host)
  },
}
