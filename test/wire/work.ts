import { Session } from 'node:inspector/promises'

/** Counts the steps of our own code; see {@link startCounting}. */
export interface StepCounter {
  /** How often each block of the code was entered in a run, plus how many bytes native code searched and copied for it. */
  count(run: () => void): Promise<number>
  stop(): void
}

/**
 * Counts steps in modules whose address contains one of these and that are imported after this call. A count, unlike a clock,
 * is the same on every machine.
 */
export async function startCounting(...folders: readonly string[]): Promise<StepCounter> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return {
    stop: () => session.disconnect(),
    async count(run) {
      await session.post('Profiler.takePreciseCoverage')
      const native = countNativeBytes()
      run()
      native.restore()
      const { result } = await session.post('Profiler.takePreciseCoverage')
      return result
        .filter(({ url }) => folders.some(folder => url.includes(folder)))
        .flatMap(script => script.functions.flatMap(each => each.ranges.map(({ count }) => count)))
        .reduce((sum, count) => sum + count, native.bytes())
    },
  }
}

/** Watches the methods of Buffer that take time in proportion to a length. */
function countNativeBytes(): { bytes(): number; restore(): void } {
  const { indexOf, lastIndexOf, set, copy } = Buffer.prototype
  const { concat } = Buffer
  let bytes = 0
  Buffer.prototype.indexOf = function (this: Buffer, value: number, from = 0): number {
    const found = indexOf.call(this, value, from)
    bytes += (found < 0 ? this.length : found) - from
    return found
  } as typeof indexOf
  Buffer.prototype.lastIndexOf = function (this: Buffer, value: Buffer, from = this.length): number {
    const found = lastIndexOf.call(this, value, from)
    bytes += from - Math.max(0, found)
    return found
  } as typeof lastIndexOf
  Buffer.prototype.set = function (this: Buffer, source: Uint8Array, offset?: number): void {
    bytes += source.length
    set.call(this, source, offset)
  }
  Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>): number {
    const copied = copy.apply(this, args)
    bytes += copied
    return copied
  }
  Buffer.concat = (...args: Parameters<typeof concat>): ReturnType<typeof concat> => {
    const result = concat(...args)
    bytes += result.length
    return result
  }
  return {
    bytes: () => bytes,
    restore: () => {
      Object.assign(Buffer.prototype, { indexOf, lastIndexOf, copy })
      Reflect.deleteProperty(Buffer.prototype, 'set')
      Buffer.concat = concat
    },
  }
}
