/** Bytes of buffers after which those that are dead are looked for. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024

let collect: (() => void) | undefined
let made = 0

/**
 * From now on `collector` is called each time that buffers of 8 MiB have been made for bodies on their way. It has to
 * give back those that no one holds any more.
 *
 * Each read of a socket and each piece of a body is a buffer of its own of up to 64 KiB, and dead as soon as it has been
 * written on. V8 looks for the dead among young objects only once some 32 MiB of buffers have been made, on newer versions
 * many times that, so that a body of any size costs so much resident memory although no more than a few pieces are held.
 * Looking after every few MiB costs no more time: the same memory is used again while it is still in the processor's cache.
 *
 * To free a buffer by hand as soon as it is written would be cheaper still, and is not done: the system reads buffers that
 * are being written by their address, and libraries keep views of what they have handed out.
 */
export function collectDeadBuffers(collector: () => void): void {
  collect = collector
  made = 0
}

/** Buffers of so many bytes have been made, each soon to be dead. One addition: cheap enough for every piece. */
export function madeBuffers(bytes: number): void {
  made += bytes
  if (made < COLLECT_AFTER_BYTES) return
  made = 0
  collect?.()
}
