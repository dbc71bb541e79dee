import type { Route } from '../../core/plan.js'
import type { Arrival } from '../../kernel/arrival.js'
import { type Feature, NO_KEY } from '../../kernel/stages.js'

/** Signed links to the content of tasks: they need no key. */
export const links: Feature = {
  name: 'links',
  compile({ route }) {
    if (route?.task?.signed !== true) return undefined
    return { name: 'links', identify: call => (isSigned(call, route) ? NO_KEY : undefined) }
  },
}

/** Whether the request is authenticated by a link's signature instead of a key. */
function isSigned({ query }: Pick<Arrival, 'query'>, { task }: Pick<Route, 'task'>): boolean {
  return task?.signed === true && query?.has('signature') === true
}
