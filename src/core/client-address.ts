import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net'

/** Entries of `x-forwarded-for` that are looked at, from its end: no chain of proxies is longer. */
const MAX_HOPS = 32
/** IPv4 addresses as a socket that takes both families has them (RFC 4291, 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i
/** Bits of a mapped address before those of IPv4. */
const MAPPED_BITS = 96
const NETWORK = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/

/**
 * `10.0.0.0/8`, `fd00::/8` or one address; undefined where the text is neither. A network of mapped addresses is that of IPv4:
 * one that is wider than all of them is refused, since it would hold every address of IPv4.
 */
export function parseNetwork(text: string): { readonly address: string; readonly prefix: number } | undefined {
  const [, address = '', written] = NETWORK.exec(text) ?? []
  const family = isIP(address)
  const bits = family === 4 ? 32 : 128
  const prefix = written === undefined ? bits : Number(written)
  if (family === 0 || prefix > bits) return undefined
  const mapped = mappedIn(address)
  if (mapped === undefined) return { address, prefix }
  return prefix < MAPPED_BITS ? undefined : { address: mapped, prefix: prefix - MAPPED_BITS }
}

/** What was probably meant by a network that is wider than the mapped addresses: `10.0.0.0/8` by `::ffff:10.0.0.0/8`. */
export function networkMeant(text: string): string | undefined {
  const [, address = '', prefix] = NETWORK.exec(text) ?? []
  const mapped = mappedIn(address)
  return mapped === undefined || Number(prefix) > 32 ? undefined : `${mapped}/${prefix}`
}

/** The address of IPv4 in a mapped one, however it is written; undefined for others. */
function mappedIn(address: string): string | undefined {
  if (!isIPv6(address)) return undefined
  const plain = new SocketAddress({ address, family: 'ipv6' }).address
  return MAPPED.test(plain) ? plain.replace(MAPPED, '') : undefined
}

/** A set of addresses. */
export class Networks {
  readonly #list = new BlockList()

  /** Networks that {@link parseNetwork} takes. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text)
      if (network !== undefined) this.#list.addSubnet(network.address, network.prefix, familyOf(network.address))
    }
  }

  has(address: string): boolean {
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address))
  }
}

/** Tells who sent a request: its connection's other end, or, behind proxies that are trusted, the client that they name. */
export class ClientAddresses {
  readonly #proxies: Networks | undefined

  /** `proxies` are networks that {@link parseNetwork} takes. */
  constructor(proxies: readonly string[] = []) {
    if (proxies.length === 0) return
    this.#proxies = new Networks(proxies)
  }

  /**
   * `connected` is the address of the connection's other end. Each trusted proxy has appended the address that called it, so
   * the list is read from its end up to the first address that is not trusted: entries before that one were sent by the
   * client itself.
   */
  of(connected: string | undefined, forwardedFor: string | string[] | undefined): string | undefined {
    if (connected === undefined || this.#proxies === undefined) return connected?.replace(MAPPED, '')
    return this.#way(connected, forwardedFor).at(-1)
  }

  /** How many trusted proxies a request came through; 0 where its sender is not one: nothing that it says of others counts. */
  proxies(connected: string | undefined, forwardedFor: string | string[] | undefined): number {
    if (connected === undefined || this.#proxies === undefined) return 0
    return this.#way(connected, forwardedFor).filter(address => this.#isTrusted(address)).length
  }

  /** From the connection's other end outwards; all but the last are trusted. */
  #way(connected: string, forwardedFor: string | string[] = ''): readonly string[] {
    let address = connected.replace(MAPPED, '')
    const way = [address]
    const hops = String(forwardedFor).split(',')
    const least = Math.max(0, hops.length - MAX_HOPS)
    for (let index = hops.length - 1; index >= least && this.#isTrusted(address); index--) {
      const next = addressIn(hops[index] ?? '')
      if (next === undefined) break
      address = next
      way.push(address)
    }
    return way
  }

  #isTrusted(address: string): boolean {
    return this.#proxies?.has(address) === true
  }
}

/** Some proxies write a port, too: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim()
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(text) ?? []
  const address = (bracketed ?? dotted ?? text).replace(MAPPED, '')
  return isIP(address) === 0 ? undefined : address
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}
