import { pageOf } from '../pages.js'
import { type AdminRoute, COUNT, FLAG, objectOf, TEXT } from '../route.js'
import { statesOf } from '../workers.js'

export const generations: AdminRoute = {
  method: 'GET',
  path: '/admin/generations',
  summary:
    'Plans in use: the one that serves new requests, and former ones that requests in flight still hold, of all workers together.',
  status: 200,
  answer: pageOf(objectOf({ number: COUNT, digest: TEXT, serving: FLAG, requests: COUNT })),
  async handle(_request, { kernel }) {
    const states = await statesOf(kernel)
    const all = new Map<number, (typeof states)[number]['generations'][number]>()
    for (const one of states.flatMap(({ generations }) => generations)) {
      const known = all.get(one.number) ?? { ...one, serving: false, requests: 0 }
      const serving = known.serving || one.serving
      all.set(one.number, { ...known, serving, requests: known.requests + one.requests })
    }
    return { data: [...all.values()].sort((one, other) => other.number - one.number) }
  },
}
