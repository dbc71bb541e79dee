import { LruCache } from '../core/lru.js'
import type { Call } from './call.js'
import type { Kernel } from './kernel.js'

/** Responses that are known at a time, those of the latest turns. */
const MAX_RESPONSES = 10_000

/**
 * By the id of a response: what tells its conversation from others, so that a turn that names only the one before it goes where that
 * one went. Of responses that this process has answered; an upstream that keeps a response itself is asked again anyway.
 */
class Threads {
  readonly #digests = new LruCache<Uint8Array>(MAX_RESPONSES / 2)

  digestOf(key: string, response: string): Uint8Array | undefined {
    return this.#digests.get(nameOf(key, response))
  }

  note(key: string, response: string, digest: Uint8Array): void {
    this.#digests.set(nameOf(key, response), digest)
  }
}

const OF_KERNEL = new WeakMap<Kernel, Threads>()

export function threadsOf({ kernel }: Call): Threads {
  const known = OF_KERNEL.get(kernel)
  if (known !== undefined) return known
  const made = new Threads()
  OF_KERNEL.set(kernel, made)
  return made
}

function nameOf(key: string, response: string): string {
  return `${key}\0${response}`
}
