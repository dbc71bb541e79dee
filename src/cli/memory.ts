import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { collectDeadBuffers } from '../core/dead-buffers.js'

/** The largest block, less its rounding, from whose end glibc learns (DEFAULT_MMAP_THRESHOLD_MAX of malloc.c). */
const THRESHOLD_BLOCK_BYTES = 32 * 1024 * 1024 - 64 * 1024

/**
 * Prepares the process for heavy relaying: every read of a socket allocates a buffer of up to 64 KiB, and V8 lets 32
 * MiB of dead buffers gather. Two defaults make that expensive, at times most of the cost of a busy tunnel:
 *
 * - glibc returns the end of the heap to the system as soon as 128 KiB are free there, so that every buffer gets new
 *   pages that the system must clear. It returns them later once a large block has been freed (M_TRIM_THRESHOLD in
 *   mallopt(3)): this happens with the first large body, or with the block here, which is never written to and takes
 *   no memory.
 * - V8 collects the whole heap once it has grown by a share of its last size, and counts the buffers. After an idle
 *   time that share is small, and it collects all the time for no gain. Three times is within the range that V8
 *   chooses itself for a busy heap.
 *
 * Dead buffers of large bodies are collected sooner ({@link collectDeadBuffers}), by collections of young objects
 * only.
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
