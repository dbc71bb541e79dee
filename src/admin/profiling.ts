import { Session } from 'node:inspector'
import { setTimeout as delay } from 'node:timers/promises'
import { getHeapSnapshot, getHeapStatistics } from 'node:v8'
import { AdminError } from './route.js'

export const MAX_PROFILE_SECONDS = 60
const MS_PER_SECOND = 1000
/** Time between two samples, microseconds. */
const SAMPLING_INTERVAL_US = 1000
/** Largest profile, characters. */
const MAX_PROFILE_CHARS = 64 * 1024 * 1024
/** A larger heap has no snapshot: making one takes as much memory again, and stops the process for seconds. */
const MAX_HEAP_BYTES = 1024 ** 3
/** Where a snapshot is cut off, bytes. */
const MAX_SNAPSHOT_BYTES = 4 * 1024 ** 3

/** One of these at a time. */
let isBusy = false

function checkIdle(): void {
  if (isBusy) throw new AdminError(409, 'busy', 'this process is being profiled already')
}

/** Profiles the process until no one waits for it any more: JSON as Chrome's tools and others read it. */
export async function cpuProfile(seconds: number, gone: AbortSignal): Promise<string> {
  checkIdle()
  isBusy = true
  const session = new Session()
  try {
    session.connect()
    await post(session, 'Profiler.enable')
    await post(session, 'Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US })
    await post(session, 'Profiler.start')
    await delay(seconds * MS_PER_SECOND, undefined, { signal: gone }).catch(() => undefined)
    const text = JSON.stringify((await post(session, 'Profiler.stop')).profile)
    if (text.length > MAX_PROFILE_CHARS)
      throw new AdminError(409, 'too_large', 'the profile is too large: ask for fewer seconds')
    return text
  } finally {
    session.disconnect()
    isBusy = false
  }
}

function post(session: Session, method: string, parameters: object = {}): Promise<{ readonly profile?: unknown }> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, answer) => (error === null ? resolve(answer ?? {}) : reject(error)))
  })
}

/** The heap, in pieces as they are read. */
export function heapSnapshot(): AsyncIterable<Uint8Array> {
  if (getHeapStatistics().used_heap_size > MAX_HEAP_BYTES)
    throw new AdminError(409, 'too_large', `the heap has more than ${MAX_HEAP_BYTES} bytes`)
  checkIdle()
  return snapshotPieces()
}

/** Busy from its first piece on: a client that has left reads none, and nothing ends then. */
async function* snapshotPieces(): AsyncGenerator<Uint8Array, void, void> {
  checkIdle()
  const snapshot = getHeapSnapshot()
  isBusy = true
  let size = 0
  try {
    for await (const piece of snapshot as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > MAX_SNAPSHOT_BYTES) throw new Error('the snapshot is too large')
      yield piece
    }
  } finally {
    snapshot.destroy()
    isBusy = false
  }
}
