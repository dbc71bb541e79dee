import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { collectDeadBuffers } from '../core/dead-buffers.js'

/** The largest block, less its rounding, from whose end glibc learns (DEFAULT_MMAP_THRESHOLD_MAX of malloc.c). */
const THRESHOLD_BLOCK_BYTES = 32 * 1024 * 1024 - 64 * 1024

/**
 * Prepares the process for relaying much: every read of a socket makes a buffer of up to 64 KiB, and V8 lets 32 MiB of
 * dead ones gather. Two habits make that dear, at times most of what a busy tunnel costs:
 *
 * - glibc gives the end of the heap back to the system as soon as 128 KiB are free there, so that every buffer is made of
 *   pages that the system has to clear anew. It gives back later once a large block has been freed (M_TRIM_THRESHOLD in
 *   mallopt(3)): until the first large body has passed, that is, or this one, which is never written to and takes no memory.
 * - V8 collects the whole heap once it has grown by a share of what was last left, and counts the buffers in. After an idle
 *   while that share is small, and it collects all the time to win nothing. Three times is within what it takes by itself
 *   for a busy heap.
 *
 * Of large bodies on their way the dead buffers are collected sooner ({@link collectDeadBuffers}), by collections of young
 * objects alone.
 */
export function prepareMemory(): void {
  new ArrayBuffer(THRESHOLD_BLOCK_BYTES)
  setFlagsFromString('--heap-growing-percent=200')
  const collect = collector()
  if (collect !== undefined) collectDeadBuffers(() => collect({ type: 'minor' }))
}

type Collector = (options: { readonly type: 'minor' }) => void

/** V8's own function, which it puts into each context that is made while the flag is set. The main one stays without it. */
function collector(): Collector | undefined {
  setFlagsFromString('--expose-gc')
  const found: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  return typeof found === 'function' ? (found as Collector) : undefined
}
