import type { OpenStoreModule } from '../../src/runtime/store-module.js'
import { MemoryStore } from '../../src/stores/memory.js'

// A store of a user's own: here one that has no more room than its options say.

export const openStore: OpenStoreModule = (options, events, now) => {
  if (options.advice === true) events.warn('it is small')
  const blobs = options.blobs === undefined ? {} : { blobs: Number(options.blobs) }
  return new MemoryStore({ records: Number(options.records ?? 1000), ...blobs }, now)
}
