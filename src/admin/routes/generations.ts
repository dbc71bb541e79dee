import type { PastGeneration } from '../host.js'
import { pageOf } from '../pages.js'
import { AdminError, type AdminRoute, COUNT, FLAG, MOMENT, objectOf, TEXT } from '../route.js'
import { statesOf } from '../workers.js'
import { answerOf, OUTCOME } from './reload.js'

const GENERATION = objectOf({
  number: COUNT,
  digest: TEXT,
  serving: FLAG,
  requests: COUNT,
  at: MOMENT,
  origin: { type: 'string', enum: ['start', 'files', 'reload', 'console', 'rollback'] },
  changes: { type: 'object' },
  returnable: FLAG,
})

interface Shown extends Partial<PastGeneration> {
  readonly number: number
  readonly serving: boolean
  readonly requests: number
}

export const generations: AdminRoute = {
  method: 'GET',
  path: '/admin/generations',
  summary:
    'Generations of the configuration since the start, the newest first: when and why each began to serve, what it changed, and how many requests in flight hold it, of all workers together.',
  status: 200,
  answer: pageOf(GENERATION),
  async handle(_request, { kernel, history }) {
    const all = new Map<number, Shown>()
    for (const one of await history()) all.set(one.number, { ...one, serving: false, requests: 0 })
    for (const one of (await statesOf(kernel)).flatMap(state => state.generations)) {
      const known = all.get(one.number)
      const requests = (known?.requests ?? 0) + one.requests
      all.set(one.number, { ...one, ...known, serving: one.serving || known?.serving === true, requests })
    }
    return { data: [...all.values()].sort((one, other) => other.number - one.number) }
  },
}

export const rollback: AdminRoute = {
  method: 'POST',
  path: '/admin/rollback',
  summary:
    'Serves what the main file said at an older generation, as a new one. The files stay as they are, and are read again when they change. 422: that has errors now, and nothing has changed.',
  body: { ...objectOf({ generation: COUNT }, ['generation']), additionalProperties: false },
  status: 200,
  answer: OUTCOME,
  async handle({ body }, host) {
    const number = Number(body.generation)
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
