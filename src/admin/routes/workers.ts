import { pageOf } from '../pages.js'
import { type AdminRoute, COUNT, objectOf } from '../route.js'
import { statesOf } from '../workers.js'

export const workers: AdminRoute = {
  method: 'GET',
  path: '/admin/workers',
  summary:
    'Processes that serve, with the number of their plan and their requests in flight. A process alone has number 0.',
  status: 200,
  answer: pageOf(objectOf({ number: COUNT, pid: COUNT, uptime: COUNT, generation: COUNT, requests: COUNT })),
  async handle(_request, { kernel }) {
    const states = await statesOf(kernel)
    return {
      data: states.map(({ generations, ...state }) => ({ ...state, generation: generations[0]?.number })),
    }
  },
}
