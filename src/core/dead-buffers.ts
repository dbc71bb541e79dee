/** Bytes of buffers after which those that are dead are collected. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024

/**
 * Buffers that are smaller are left to V8, as are bodies that are held: a collection in between makes what is in use old, and only
 * full collections free that.
 */
const SMALLEST_BYTES = 32 * 1024

let made = 0

/**
 * Counts buffers that are dead as soon as they have been written on: each read of a socket and each piece of a body is one
 * of up to 64 KiB. Young objects are collected after every 8 MiB of them, where there is a `gc`: bin/gateway.js provides it. V8 by
 * itself waits for some 32 MiB, newer versions for twice as much; collected sooner, the same memory is used again while it
 * is still in the processor's cache.
 *
 * Buffers are not freed by hand as they are written: the system reads them by their address, and libraries keep views of
 * what they have handed out.
 */
export function madeBuffers(bytes: number): void {
  if (bytes < SMALLEST_BYTES) return
  made += bytes
  if (made < COLLECT_AFTER_BYTES) return
  made = 0
  globalThis.gc?.({ type: 'minor' })
}
