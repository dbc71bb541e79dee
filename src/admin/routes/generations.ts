import { pageOf } from '../pages.js'
import { type AdminRoute, COUNT, FLAG, objectOf, TEXT } from '../route.js'

export const generations: AdminRoute = {
  method: 'GET',
  path: '/admin/generations',
  summary: 'Plans in use: the one that serves new requests, and former ones that requests in flight still hold.',
  status: 200,
  answer: pageOf(objectOf({ number: COUNT, digest: TEXT, serving: FLAG, requests: COUNT })),
  async handle(_request, { kernel }) {
    const { generation } = kernel
    return {
      data: [generation, ...kernel.former].map(one => ({
        number: one.number,
        digest: one.plan.digest,
        serving: one === generation,
        requests: one.leases,
      })),
    }
  },
}
