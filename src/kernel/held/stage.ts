import type { Exchange } from '../../core/plan.js'
import { RawRelay } from '../relay/raw.js'
import { lengthOf } from '../response-headers.js'
import { slot } from '../slot.js'
import type { Feature, Stage } from '../stages.js'
import { ResultsRelay } from './batch/results-relay.js'
import { mayReference, narrowByReferences } from './references.js'
import { ResourceRelay } from './relay.js'
import { forgetIfGone, routeToOwner } from './route-to-owner.js'

/** Candidates that are known before the body is read. */
const OWNERS = slot<readonly Exchange[]>('owners')

/** Resources that upstreams keep: a request reaches the upstream that has what it names, if it belongs to the caller. */
export const resources: Feature = {
  name: 'resources',
  compile({ route }): Stage | undefined {
    if (route === undefined) return undefined
    const { holding, names, results, lane } = route
    const isNaming = names.length > 0 && lane !== 'answer'
    if ((holding === undefined || lane !== 'exchange') && !isNaming) return undefined
    const naming: Pick<Stage, 'narrow'> = isNaming
      ? {
          narrow: (call, candidates, body) =>
            mayReference(body, names) ? narrowByReferences(call, route, body, candidates) : candidates,
        }
      : {}
    if (holding === undefined || lane !== 'exchange') return { name: 'resources', ...naming }
    return {
      name: 'resources',
      ...naming,
      // Rejects resources of other callers before reading the body.
      ...(holding.verb !== 'makes' && {
        admit: async call => call.set(OWNERS, await routeToOwner(call, route, holding)),
      }),
      source: call => call.get(OWNERS) ?? routeToOwner(call, route, holding),
      reads: call => holding.verb !== 'uses' || call.resultNames !== undefined,
      relay(source, status, headers, from) {
        const renamed = results && source.call.resultNames?.get(source.exchange.upstream.name)
        if (results !== undefined && renamed !== undefined) {
          return new ResultsRelay(source, status, headers, results, renamed)
        }
        if (holding.verb === 'uses') return new RawRelay(source, status, headers, lengthOf(from))
        return new ResourceRelay(source, holding, status, headers, from)
      },
      record: forgetIfGone,
    }
  },
}
