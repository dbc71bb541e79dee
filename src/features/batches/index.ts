import type { Feature } from '../../kernel/stages.js'
import { openBatch } from './open.js'
import { BATCH_NAMES, BatchNames } from './result-names.js'

/** Batches: one upstream takes all of a batch's requests, with its own names of models. */
export const batches: Feature = {
  name: 'batches',
  open(kernel) {
    kernel.provide(BATCH_NAMES, new BatchNames(kernel.store))
    return {}
  },
  compile({ route }) {
    const batch = route?.batch
    if (route === undefined || batch === undefined) return undefined
    return { name: 'batches', narrow: (call, candidates, body) => openBatch(call, route, batch, body, candidates) }
  },
}
