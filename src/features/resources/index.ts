import type { Exchange } from '../../core/plan.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { RawRelay } from '../../kernel/relay/raw.js'
import { lengthOf } from '../../kernel/response-headers.js'
import { slot } from '../../kernel/slot.js'
import type { Feature, Stage } from '../../kernel/stages.js'
import { UPLOAD_OBSERVER } from '../../kernel/upload.js'
import { RESULT_NAMES } from '../batches/result-names.js'
import { ResultsRelay } from '../batches/results-relay.js'
import { mayHoldBatch, UPLOADED_LINES, UploadedLines } from '../batches/uploaded-lines.js'
import { listResources } from './list.js'
import { OWNERSHIP, OwnershipStore } from './ownership-store.js'
import { mayReference, narrowByReferences } from './references.js'
import { ResourceRelay } from './relay.js'
import { forgetIfGone, routeToOwner } from './route-to-owner.js'

function countLines(call: Call, body: Body): Body {
  if (body.type !== 'stream') return body
  const lines = new UploadedLines(call)
  call.set(UPLOADED_LINES, lines)
  call.set(UPLOAD_OBSERVER, lines.push)
  return body
}

/** Candidates that were found before the body is read. */
const OWNERS = slot<readonly Exchange[]>('owners')

/** Resources that upstreams keep: a request reaches the upstream that has what it names, if it belongs to the caller. */
export const resources: Feature = {
  name: 'resources',
  open(kernel) {
    kernel.provide(OWNERSHIP, new OwnershipStore(kernel.store))
    return {}
  },
  compile({ kernel, plan, route }): Stage | undefined {
    if (route === undefined) return undefined
    const { resource, references, results, lane } = route
    if (resource !== undefined && lane === 'answer') {
      return { name: 'resources', serve: call => listResources(call, resource, kernel.serve) }
    }
    const hasReferences = references.length > 0 && lane !== 'answer'
    if ((resource === undefined || lane !== 'exchange') && !hasReferences) return undefined
    const narrowing: Pick<Stage, 'narrow'> = hasReferences
      ? {
          narrow: (call, candidates, body) =>
            mayReference(body, references) ? narrowByReferences(call, route, body, candidates) : candidates,
        }
      : {}
    if (resource === undefined || lane !== 'exchange') return { name: 'resources', ...narrowing }
    const countsLines = mayHoldBatch(plan, route)
    return {
      name: 'resources',
      ...narrowing,
      ...(countsLines && { onBody: countLines }),
      // Rejects resources of other callers before reading the body.
      ...(resource.action !== 'create' && {
        admit: async call => call.set(OWNERS, await routeToOwner(call, route, resource)),
      }),
      source: call => call.get(OWNERS) ?? routeToOwner(call, route, resource),
      reads: call => resource.action !== 'use' || call.get(RESULT_NAMES) !== undefined,
      relay(source, status, headers, from) {
        const renamed = results && source.call.get(RESULT_NAMES)?.get(source.exchange.upstream.name)
        if (results !== undefined && renamed !== undefined) {
          return new ResultsRelay(source, status, headers, results, renamed)
        }
        if (resource.action === 'use') return new RawRelay(source, status, headers, lengthOf(from))
        return new ResourceRelay(source, resource, status, headers, from)
      },
      settle: forgetIfGone,
    }
  },
}
