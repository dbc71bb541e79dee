import type { Socket } from 'node:net'
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls'
import type { EgressConfig } from '../core/egress.js'
import { Egress } from './egress.js'

/** Bytes of an answer that are read for its date. */
const MAX_HEAD_BYTES = 16 * 1024
/** Certificates of a chain that are looked at. */
const MAX_CHAIN = 10

/** What a server shows to someone who connects. Moments in milliseconds since the epoch. */
export interface Shown {
  /** Absent: the connection has no TLS. */
  readonly tls?: ShownTls
  /** What its clock says; absent where its answer does not. */
  readonly date?: number
}

export interface ShownTls {
  readonly version: string
  /** Why the gateway would not trust it; absent: it would. */
  readonly fault?: string
  /** From the server's own to the authority’s, if the server sends them. */
  readonly chain: readonly ShownCertificate[]
}

interface ShownCertificate {
  readonly subject: string
  readonly issuer: string
  readonly from: number
  readonly to: number
}

/**
 * Connects as requests to an upstream would, and asks for the head of `/` without a credential, but only if the certificate
 * is good. Rejects where no connection comes about.
 */
export function inspect(url: URL, config: EgressConfig | undefined, timeoutMs: number): Promise<Shown> {
  const egress = new Egress(config ?? { pool: {} })
  return new Promise((resolve, reject) => {
    egress.open({ url, timeoutMs, isInspection: true }, (error, socket) => {
      if (socket === null) {
        reject(error ?? new Error('no connection'))
        return
      }
      const tls = socket instanceof TLSSocket ? shownTls(socket) : undefined
      const done = (date: number | undefined): void => {
        socket.destroy()
        resolve({ ...(tls === undefined ? {} : { tls }), ...(date === undefined ? {} : { date }) })
      }
      if (tls?.fault !== undefined) done(undefined)
      else askDate(socket, url, timeoutMs, done)
    })
  })
}

function askDate(socket: Socket, url: URL, timeoutMs: number, done: (date: number | undefined) => void): void {
  let head = ''
  const timer = setTimeout(() => done(undefined), timeoutMs)
  const finish = (): void => {
    clearTimeout(timer)
    const date = Date.parse(/^date: *(.*)$/im.exec(head)?.[1] ?? '')
    done(Number.isNaN(date) ? undefined : date)
  }
  socket.on('data', (bytes: Buffer) => {
    head += bytes.toString('latin1')
    if (head.includes('\r\n\r\n') || head.length > MAX_HEAD_BYTES) finish()
  })
  socket.once('close', finish)
  socket.write(`HEAD / HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n\r\n`)
}

function shownTls(socket: TLSSocket): ShownTls {
  const chain: ShownCertificate[] = []
  const seen = new Set<string>()
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true)
  while (certificate?.fingerprint256 !== undefined && chain.length < MAX_CHAIN) {
    if (seen.has(certificate.fingerprint256)) break
    seen.add(certificate.fingerprint256)
    chain.push({
      subject: nameOf(certificate.subject),
      issuer: nameOf(certificate.issuer),
      from: Date.parse(certificate.valid_from),
      to: Date.parse(certificate.valid_to),
    })
    certificate = certificate.issuerCertificate
  }
  const version = socket.getProtocol() ?? 'unknown'
  if (socket.authorized) return { version, chain }
  const { authorizationError } = socket
  // Node's types say Error; it is a code in most cases.
  const fault = authorizationError instanceof Error ? authorizationError.message : String(authorizationError)
  return { version, chain, fault }
}

function nameOf({ CN, O }: { readonly CN?: string | string[]; readonly O?: string | string[] } = {}): string {
  return [CN ?? O ?? 'no name'].flat().join(', ')
}
