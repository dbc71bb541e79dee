import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { addressOf, Blocked } from './media-url.js'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Finds the addresses of a host. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>

/** A name that leads nowhere, for now: nothing about it is forbidden. */
export class NoAddress extends Blocked {}

/**
 * Resolves the addresses of a URL's host; a connection will go to one of them. Throws {@link NoAddress} if there are
 * none, and the signal's reason when it aborts.
 */
export async function addressesOf(
  url: URL,
  signal: AbortSignal,
  resolve: Resolve = resolveBySystem,
): Promise<readonly ResolvedAddress[]> {
  const literal = addressOf(url)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (literal !== undefined) return [{ address: host, family: literal.family }]
  // A name that does not resolve and one that may not be connected to look alike: neither maps an inner network.
  const found = resolve(host).catch(error => Promise.reject(new NoAddress('no address', { cause: error })))
  return await unlessAborted(found, signal)
}

async function resolveBySystem(host: string): Promise<readonly ResolvedAddress[]> {
  return await lookup(host, { all: true, verbatim: true })
}

/** A `lookup` that answers with these addresses for any name. */
export function pinned(addresses: readonly ResolvedAddress[]): LookupFunction {
  const [first] = addresses
  return (_host, options, callback) => {
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family ?? 0)
  }
}

/** The system's resolver cannot be called off: its answer is then of no interest. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
    promise.catch(() => undefined)
  }
}
