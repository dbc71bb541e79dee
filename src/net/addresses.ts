import { isIPv4, isIPv6 } from 'node:net'

/** An address as a number; mapped, translated and tunnelled IPv4 addresses stay the IPv6 addresses that they are. */
export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

export interface Network {
  readonly family: 4 | 6
  readonly base: bigint
  /** Bits to the right of the prefix. */
  readonly host: bigint
}

/** Networks that are not part of the public Internet, and what they are, by the IANA special-purpose registries. */
const SPECIAL4 = {
  'this network': ['0.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  shared: ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8'],
  'link-local': ['169.254.0.0/16'],
  protocol: ['192.0.0.0/24', '192.88.99.0/24'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  benchmark: ['198.18.0.0/15'],
  // In public space, and yet the agent of the host that a virtual machine runs on.
  host: ['168.63.129.16/32'],
  multicast: ['224.0.0.0/4'],
  reserved: ['240.0.0.0/4'],
}

/** Within 2000::/3; nothing outside of that is public (RFC 4291, 2.4). */
const SPECIAL6 = {
  protocol: ['2001::/23'],
  documentation: ['2001:db8::/32', '3fff::/20'],
  '6to4': ['2002::/16'],
}

const OUTSIDE6 = {
  unspecified: ['::/128'],
  loopback: ['::1/128'],
  mapped: ['::ffff:0:0/96'],
  translated: ['64:ff9b::/96', '64:ff9b:1::/48', '::ffff:0:0:0/96'],
  'unique local': ['fc00::/7'],
  'link-local': ['fe80::/10'],
  'site-local': ['fec0::/10'],
  multicast: ['ff00::/8'],
}

interface Tables {
  readonly global6: Network
  readonly special: readonly { readonly what: string; readonly network: Network }[]
}

let read: Tables | undefined

/** The networks above, read when the first address is checked: a start does without them. */
function tables(): Tables {
  read ??= { global6: network('2000::/3'), special: [...named(SPECIAL4), ...named(SPECIAL6), ...named(OUTSIDE6)] }
  return read
}

function named(table: Readonly<Record<string, readonly string[]>>): { what: string; network: Network }[] {
  return Object.entries(table).flatMap(([what, list]) => list.map(text => ({ what, network: network(text) })))
}

/** What kind of address this is where it is not public (`loopback`); undefined where it is. */
export function notPublic(address: Address): string | undefined {
  const { special, global6 } = tables()
  const found = special.find(({ network }) => within(address, network))
  if (found !== undefined) return found.what
  return address.family === 6 && !within(address, global6) ? 'reserved' : undefined
}

export function within({ family, value }: Address, { family: its, base, host }: Network): boolean {
  return family === its && value >> host === base >> host
}

/** An address in its usual spelling (dotted decimal; RFC 4291, 2.2), without brackets or zone. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 4, value: number(text.split('.').map(Number), 8n) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  return { family: 6, value: number(groups(text), 16n) }
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', prefix] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const base = parseAddress(address)
  if (base === undefined) return undefined
  const bits = base.family === 4 ? 32 : 128
  const length = prefix === undefined ? bits : Number(prefix)
  return length > bits ? undefined : { family: base.family, base: base.value, host: BigInt(bits - length) }
}

function network(text: string): Network {
  const parsed = parseNetwork(text)
  if (parsed === undefined) throw new TypeError(`${text} is not a network`)
  return parsed
}

function number(digits: readonly number[], bits: bigint): bigint {
  return digits.reduce((sum, digit) => (sum << bits) + BigInt(digit), 0n)
}

/** The eight groups of a valid IPv6 address. */
function groups(text: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)
  if (dotted !== null) {
    const [, head = '', ...bytes] = dotted
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number)
    return groups(`${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`)
  }
  const [left = '', right] = text.split('::')
  const before = hex(left)
  if (right === undefined) return before
  const after = hex(right)
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}

function hex(text: string): number[] {
  return text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16))
}
