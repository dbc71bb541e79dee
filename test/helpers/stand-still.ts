/** Keeps this process from doing anything for so many milliseconds, as one that is stopped, or has too much to do. */
export function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
