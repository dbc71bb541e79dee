/**
 * How long a test waits for something that never comes before it says so; no assertion depends on it. Long, because what
 * comes late on a busy machine has come; shorter than a test may take.
 */
const PATIENCE = 60_000

interface Waiter<T> {
  readonly matches: (items: readonly T[]) => boolean
  readonly resolve: () => void
}

/** A list that tests append to and wait on: what has happened already counts too, so nothing is missed. */
export class Journal<T> {
  readonly items: T[] = []
  readonly #name: string
  readonly #waiters = new Set<Waiter<T>>()

  constructor(name: string) {
    this.#name = name
  }

  push(item: T): void {
    this.items.push(item)
    for (const waiter of this.#waiters) if (waiter.matches(this.items)) waiter.resolve()
  }

  /** The first item that matches, past or future. */
  async find(matches: (item: T) => boolean): Promise<T> {
    await this.#until(items => items.some(matches))
    return this.items.find(matches) as T
  }

  /** Resolves as soon as there are `count` items (that match). */
  async count(count: number, matches: (item: T) => boolean = () => true): Promise<readonly T[]> {
    await this.#until(items => items.filter(matches).length >= count)
    return this.items.filter(matches)
  }

  async #until(matches: (items: readonly T[]) => boolean): Promise<void> {
    if (matches(this.items)) return
    const { promise, resolve } = withResolvers<void>()
    const waiter: Waiter<T> = { matches, resolve }
    this.#waiters.add(waiter)
    try {
      await inTime(promise, () => `${this.#name}: nothing came; ${this.items.length} seen: ${tail(this.items)}`)
    } finally {
      this.#waiters.delete(waiter)
    }
  }
}

/** Rejects with a readable message where `promise` does not settle, instead of letting the whole file time out. */
export async function inTime<T>(promise: Promise<T>, message: () => string): Promise<T> {
  const { promise: late, reject } = withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(message())), PATIENCE)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

export interface Resolvers<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
}

/** `Promise.withResolvers`, which Node 20 does not have. */
export function withResolvers<T>(): Resolvers<T> {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

function tail(items: readonly unknown[]): string {
  return JSON.stringify(items.slice(-8))?.slice(0, 2000) ?? ''
}
