import { request as askPlain, type IncomingMessage } from 'node:http'
import { request as askSecure } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { ProxyRules, ProxyServer } from '../core/egress.js'
import { parseAddress, parseNetwork, within } from './addresses.js'

/** The proxy failed, and no one has asked the upstream: it cannot be reached, does not answer, or refuses. */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault'
  readonly isTimeout: boolean

  constructor(
    message: string,
    { isTimeout = false, cause }: { readonly isTimeout?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.isTimeout = isTimeout
  }
}

/** The proxy on the way to an address; undefined where there is none. */
export function proxyFor(rules: ProxyRules | undefined, url: URL): ProxyServer | undefined {
  const server = url.protocol === 'https:' ? rules?.https : rules?.http
  if (server === undefined || rules === undefined) return undefined
  return rules.except.some(entry => exempts(entry.toLowerCase(), url)) ? undefined : server
}

/** As `NO_PROXY` is usually read: names stand for themselves and all below them. */
function exempts(entry: string, url: URL): boolean {
  if (entry === '*') return true
  const host = hostOf(url)
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  const network = parseNetwork(entry)
  if (network !== undefined) {
    const address = parseAddress(host)
    return address !== undefined && within(address, network)
  }
  const [, name = '', only] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []
  if (only !== undefined && only !== port) return false
  const bare = name.replace(/^\*?\./, '').replace(/\.$/, '')
  return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`))
}

/** Without brackets, and without the dot that may end a name. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/(?<!\.)\.$/, '')
}

interface Tunnelling {
  /** `host:port` that the proxy is to connect to. */
  readonly authority: string
  /** To be trusted where the proxy speaks TLS. */
  readonly secureContext: SecureContext | undefined
  readonly lookup: LookupFunction
}

/**
 * Asks a proxy for a connection to another host (CONNECT). `done` gets the connection, or a {@link ProxyFault}, once; the way to
 * give it up is returned. Time is the caller's to keep.
 */
export function connectThrough(
  proxy: ProxyServer,
  { authority, secureContext, lookup }: Tunnelling,
  done: (error: ProxyFault | null, socket?: Duplex) => void,
): () => void {
  const url = new URL(proxy.origin)
  const isSecure = url.protocol === 'https:'
  const host = hostOf(url)
  const login = authorizationOf(proxy)
  const request = (isSecure ? askSecure : askPlain)({
    host,
    port: Number(url.port) || (isSecure ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    agent: false,
    lookup,
    headers: { host: authority, ...(login === undefined ? {} : { 'proxy-authorization': login }) },
    ...(isSecure && { servername: isIP(host) === 0 ? host : '' }),
    ...(isSecure && secureContext !== undefined && { secureContext }),
  })
  request.once('connect', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
    // The socket's next owner adds its own listener.
    socket.on('error', () => undefined)
    const { statusCode = 0 } = answer
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head)
      done(null, socket)
      return
    }
    socket.destroy()
    done(new ProxyFault(`the proxy answered ${statusCode}`))
  })
  request.once('error', cause => done(new ProxyFault('the proxy cannot be reached', { cause })))
  request.end()
  return () => request.destroy()
}

/** RFC 7617. */
function authorizationOf({ user, password }: ProxyServer): string | undefined {
  if (user === undefined) return undefined
  return `Basic ${Buffer.from(`${user}:${password?.reveal() ?? ''}`).toString('base64')}`
}
