import { Glob } from '../core/glob.js'
import { type Address, type Network, notPublic, parseAddress, parseNetwork, within } from './addresses.js'

/** Why a URL is not fetched: for the log, never for the client, who could map a network by it. */
export class Blocked extends Error {
  override readonly name = 'Blocked'
}

export interface MediaRules {
  /**
   * What may be fetched from. A name (`media.example.com`, `*.example.com` for all below it, `*` for every name) allows
   * the public addresses of that host; an address or a network (`10.1.0.0/16`) allows itself, public or not. Nothing is
   * allowed that is not here.
   */
  readonly allow: readonly string[]
  /** Whether `http:` is allowed beside `https:`. */
  readonly http: boolean
  /** Ports that may be connected to; those of the two schemes where none are given. */
  readonly ports?: readonly number[]
}

const MAX_URL_CHARS = 8192
/** Names inside a network (RFC 6761, 6762, 7686, 8375, 9476, and common use): always blocked. */
const INSIDE = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
  'onion',
  'alt',
]

/** Decides which URLs and which addresses may be connected to. Compiled once from the operator's list. */
export class MediaGuard {
  readonly #networks: readonly Network[]
  readonly #names: readonly string[]
  readonly #globs: readonly Glob[]
  readonly #rules: MediaRules

  constructor(rules: MediaRules) {
    const parsed = rules.allow.map(entry => ({ entry: entry.toLowerCase(), network: parseNetwork(entry) }))
    this.#networks = parsed.flatMap(({ network }) => network ?? [])
    this.#names = parsed.filter(({ network }) => network === undefined).map(({ entry }) => entry.replace(/\.$/, ''))
    this.#globs = this.#names.map(name => new Glob(name))
    this.#rules = rules
  }

  /** The URL, where nothing about it is forbidden; its addresses are still to be checked. Throws {@link Blocked}. */
  url(text: string, base?: URL): URL {
    // The parser takes these and reads them in its own way; no honest URL has them.
    if (text.length > MAX_URL_CHARS || /[\s\\\p{Cc}]/u.test(text)) throw new Blocked('malformed URL')
    if (!URL.canParse(text, base?.href)) throw new Blocked('malformed URL')
    const url = new URL(text, base)
    const { protocol, username, password } = url
    if (protocol !== 'https:' && !(protocol === 'http:' && this.#rules.http)) throw new Blocked(`scheme ${protocol}`)
    if (username !== '' || password !== '') throw new Blocked('user information')
    const port = url.port === '' ? (protocol === 'https:' ? 443 : 80) : Number(url.port)
    if (!(this.#rules.ports ?? [80, 443]).includes(port)) throw new Blocked(`port ${port}`)
    if (addressOf(url) === undefined) this.name(hostOf(url))
    return url
  }

  /** Throws {@link Blocked} where one of a host's addresses may not be connected to, or there is none. */
  addresses(url: URL, list: readonly string[]): void {
    if (list.length === 0) throw new Blocked('no address')
    const isNamed = addressOf(url) === undefined ? this.isNamed(hostOf(url)) : this.#names.includes('*')
    for (const text of list) {
      const address = parseAddress(text)
      if (address === undefined) throw new Blocked('unreadable address')
      if (this.#networks.some(network => within(address, network))) continue
      const what = notPublic(address)
      if (what !== undefined) throw new Blocked(`${what} address`)
      if (!isNamed) throw new Blocked('not in the list')
    }
  }

  private name(host: string): void {
    if (this.#names.includes(host)) return
    const isInside = !host.includes('.') || INSIDE.some(end => host === end || host.endsWith(`.${end}`))
    if (isInside) throw new Blocked('name of an internal network')
    // Where networks are allowed, any name may turn out to be in one: its addresses decide.
    if (!this.isNamed(host) && this.#networks.length === 0) throw new Blocked('not in the list')
  }

  private isNamed(host: string): boolean {
    return this.#globs.some(glob => glob.matches(host))
  }
}

/** The host's name in lower case and in ASCII, without the dot that may end it. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/(?<!\.)\.+$/, '')
}

/** The IP address in the URL itself: the URL parser has normalized its spelling. */
export function addressOf({ hostname }: URL): Address | undefined {
  return parseAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
}
