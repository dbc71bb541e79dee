import type { StoredBatch } from '../../storage.js'

/** A batch runs when it is asked for the first time, and is done from the second time on. */
const POLLS_TO_END = 2

export function isDone({ polls }: StoredBatch): boolean {
  return polls >= POLLS_TO_END
}

/** The batch once it has been looked at again; what it makes is made by the look that finds it done. */
export function looked(before: StoredBatch, finish: (batch: StoredBatch) => StoredBatch): StoredBatch {
  if (before.cancelled) return before
  const batch = { ...before, polls: before.polls + 1 }
  return isDone(batch) && !isDone(before) ? finish(batch) : batch
}
