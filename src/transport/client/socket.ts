import { isIP, type LookupFunction, type NetConnectOpts, connect as openTcp, type Socket } from 'node:net'
import { connect as openTls, type SecureContext } from 'node:tls'
import { TransportFault } from './handler.js'

/** How sockets are opened; what is absent is as Node has it. */
export interface SocketOptions {
  /** Authorities, the gateway's own certificate and versions of TLS. */
  readonly secureContext?: SecureContext
  /** The name that the server is asked for and has to show, instead of its host. */
  readonly servername?: string
  readonly lookup?: LookupFunction
  /** After which silence TCP asks whether the other side is there. */
  readonly tcpKeepAliveMs?: number
}

/** Where sockets lead. */
export interface SocketSettings extends SocketOptions {
  readonly origin: URL
  /** For TCP and TLS together. */
  readonly connectTimeoutMs: number
  /** The last TLS session that the server gave, for the next connection. */
  session?: Buffer
}

interface SocketEvents {
  onOpen(): void
  /** Bytes of a buffer that all sockets are read into: valid within this call. False to read no more until `resume`. */
  onBytes(bytes: Buffer, end: number): boolean
  /** The upstream sends nothing more. */
  onEnd(): void
  /** Once, at last; without an error where both sides had ended. */
  onClose(error: Error | undefined): void
}

/**
 * One buffer for the reads of all sockets: what is in it is copied before the next read. A buffer of its own for each read
 * costs an allocation of 64 KiB, and keeps all of it alive for an event of 100 bytes. Reads are reported by the event loop
 * alone, one after the other: nothing that a handler does in its call reads a socket.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)
const TCP_KEEP_ALIVE_MS = 30_000

/** Opens a connection over TCP, and TLS for `https:`. Of several addresses the first that answers is taken (RFC 8305). */
export function openSocket(settings: SocketSettings, events: SocketEvents): Socket {
  const isSecure = settings.origin.protocol === 'https:'
  const socket = isSecure ? secureSocket(settings, events) : openTcp(optionsFor(settings, events))
  let error: Error | undefined
  const timer = setTimeout(() => {
    socket.destroy(new TransportFault('CONNECT_TIMEOUT', 'The upstream did not accept a connection in time.'))
  }, settings.connectTimeoutMs)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, settings.tcpKeepAliveMs ?? TCP_KEEP_ALIVE_MS)
  socket.once(isSecure ? 'secureConnect' : 'connect', () => {
    clearTimeout(timer)
    events.onOpen()
  })
  socket.on('end', () => events.onEnd())
  socket.on('error', cause => {
    error = cause
  })
  socket.on('close', () => {
    clearTimeout(timer)
    events.onClose(error)
  })
  return socket
}

function optionsFor({ origin, lookup }: SocketSettings, events: SocketEvents): NetConnectOpts {
  return {
    host: hostOf(origin),
    port: Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80),
    autoSelectFamily: true,
    ...(lookup === undefined ? {} : { lookup }),
    onread: { buffer: READ_BUFFER, callback: (length: number) => events.onBytes(READ_BUFFER, length) },
  }
}

function secureSocket(settings: SocketSettings, events: SocketEvents): Socket {
  const host = hostOf(settings.origin)
  const { session, secureContext, servername } = settings
  const socket = openTls({
    ...optionsFor(settings, events),
    // Addresses are not names (RFC 6066 §3).
    servername: servername ?? (isIP(host) === 0 ? host : ''),
    ALPNProtocols: ['http/1.1'],
    ...(secureContext === undefined ? {} : { secureContext }),
    ...(session === undefined ? {} : { session }),
  })
  socket.on('session', (given: Buffer) => {
    settings.session = given
  })
  return socket
}

/** Without the brackets of an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
