import { lookup as lookUp } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { LruCache } from '../core/lru.js'

interface Found {
  readonly address: string
  readonly family: number
}

/** Finds all addresses of a host, as `dns.lookup` does. */
type FindAddresses = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, found: readonly Found[]) => void,
) => void

interface Known {
  readonly addresses: readonly Found[]
  /** By `performance.now()`. */
  readonly at: number
}

/** How long the last addresses of a host are used while no one can say what they are now. */
const LAST_GOOD_MS = 600_000
/** After this time the last addresses are used, if there are some. */
const SLOW_MS = 2000
/** Hosts whose last addresses are kept, in each half of the cache. */
const HALF_HOSTS = 1024

/**
 * Looks up the hosts of upstreams and proxies each time that a connection is opened, so that one that moves is followed. One
 * look-up of a host at a time: they take threads, of which there are few. While the name server fails or is slow, the
 * addresses that it gave last are used. @testonly
 */
export class Names {
  readonly #find: FindAddresses
  readonly #known = new LruCache<Known>(HALF_HOSTS)
  readonly #asked = new Map<string, ((error: NodeJS.ErrnoException | null, found: readonly Found[]) => void)[]>()

  /** `find` is the system's, unless a test says otherwise. */
  constructor(find: FindAddresses = findBySystem) {
    this.#find = find
  }

  /** For `net.connect`. */
  readonly lookup: LookupFunction = (host, options, callback) => {
    this.#addresses(host, (error, found) => {
      const { family = 0, all } = options
      const wanted = family === 0 ? found : found.filter(one => `IPv${one.family}` === family || one.family === family)
      const [first] = wanted
      if (error === null && first !== undefined) {
        if (all === true) callback(null, [...wanted])
        else callback(null, first.address, first.family)
        return
      }
      const none =
        error ?? Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND', hostname: host })
      callback(none, '', 0)
    })
  }

  #addresses(host: string, done: (error: NodeJS.ErrnoException | null, found: readonly Found[]) => void): void {
    let isDone = false
    const finish = (error: NodeJS.ErrnoException | null, found: readonly Found[]): void => {
      if (isDone) return
      isDone = true
      clearTimeout(timer)
      done(error, found)
    }
    const lastGood = this.#lastGood(host)
    const timer = lastGood && setTimeout(() => finish(null, lastGood), SLOW_MS).unref()
    const waiting = this.#asked.get(host)
    if (waiting !== undefined) {
      waiting.push(finish)
      return
    }
    const all = [finish]
    this.#asked.set(host, all)
    this.#find(host, (error, found) => {
      this.#asked.delete(host)
      if (error === null && found.length > 0) this.#known.set(host, { addresses: found, at: performance.now() })
      const kept = error?.code === 'ENOTFOUND' ? undefined : error && this.#lastGood(host)
      for (const one of all) one(kept ? null : error, kept ?? found)
    })
  }

  #lastGood(host: string): readonly Found[] | undefined {
    const known = this.#known.get(host)
    return known !== undefined && performance.now() - known.at < LAST_GOOD_MS ? known.addresses : undefined
  }
}

/** Of this process. */
export const names = new Names()

function findBySystem(host: string, done: Parameters<FindAddresses>[1]): void {
  lookUp(host, { all: true }, (error, found) => done(error, found ?? []))
}
