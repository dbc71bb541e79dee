import type { FileContent } from './process-config.js'
import type { Secret } from './secret.js'

/** A proxy that connections go through (RFC 9110 §9.3.6). */
export interface ProxyServer {
  /** `http://host:port`, or `https://…` for TLS to the proxy itself. */
  readonly origin: string
  readonly user?: string
  readonly password?: Secret
}

/** Which proxy leads where; one that is absent: none. */
export interface ProxyRules {
  /** To `https:` and `http:` addresses. */
  readonly https?: ProxyServer
  readonly http?: ProxyServer
  /** Hosts that are reached without, as `NO_PROXY` has them. */
  readonly except: readonly string[]
  /** Whether the environment says all this. */
  readonly isFromEnvironment: boolean
}

/** TLS with an upstream. */
export interface ClientTls {
  /** Trusted instead of the usual authorities. */
  readonly ca?: FileContent
  /** What the gateway shows. */
  readonly certificate?: FileContent
  readonly key?: FileContent
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  readonly serverName?: string
}

/** Connections to one upstream; durations in milliseconds. What is absent is as everywhere. */
export interface PoolBounds {
  readonly connections?: number
  /** Requests that wait for a connection. */
  readonly queue?: number
  /** How long a connection without a request stays open. */
  readonly idle?: number
  /** How old a connection may be when it gets another request. */
  readonly age?: number
  /** After which silence TCP asks whether the other side is there. */
  readonly tcpKeepAlive?: number
}

/** How connections leave for an upstream, and for what its requests and answers name. */
export interface EgressConfig {
  readonly proxy?: ProxyRules
  readonly tls?: ClientTls
  /** Absent: HTTP/1.1 alone. */
  readonly http2?: true
  readonly pool: PoolBounds
}
