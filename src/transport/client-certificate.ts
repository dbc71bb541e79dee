import type { PeerCertificate, TLSSocket } from 'node:tls'

/** The certificate that a client has shown in its TLS handshake. */
export interface ClientCertificate {
  /** Why it does not count, as OpenSSL names it (`CERT_HAS_EXPIRED`); undefined: one of the declared authorities vouches for it. */
  readonly fault: string | undefined
  /** End of its validity, milliseconds since the epoch. */
  readonly until: number
  /** SHA-256 of all of it, in hex with colons. */
  readonly fingerprint: string
  /** By their short names: `CN`, `O`. Several values of one name are a list. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>
  readonly issuer: Readonly<Record<string, string | readonly string[]>>
  /** Further names: `DNS`, `URI`, `email`, `IP Address`, each with its values. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** Of connections that are open; undefined: the client has shown none. */
const known = new WeakMap<object, ClientCertificate | 'none'>()

/** What a client has shown on its connection. Undefined: no certificate, or no TLS. */
export function certificateOf(connection: object): ClientCertificate | undefined {
  const before = known.get(connection)
  if (before !== undefined) return before === 'none' ? undefined : before
  const found = 'getPeerCertificate' in connection ? read(connection as TLSSocket) : undefined
  known.set(connection, found ?? 'none')
  return found
}

function read(socket: TLSSocket): ClientCertificate | undefined {
  const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null
  if (shown?.fingerprint256 === undefined) return undefined
  const { authorizationError: error, authorized } = socket
  const { subject = {}, issuer = {}, valid_to: end = '' } = shown
  return {
    fault: authorized ? undefined : error instanceof Error ? error.message : String(error ?? 'UNKNOWN'),
    until: Date.parse(end),
    fingerprint: shown.fingerprint256,
    subject: { ...(subject as object) },
    issuer: { ...(issuer as object) },
    names: namesIn(shown.subjectaltname ?? ''),
  }
}

/** `DNS:a.example, URI:spiffe://b/c`; values that could be mistaken are in quotes, as JSON. */
const NAME = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y
/** Most further names of one certificate that are read. */
const MAX_NAMES = 100

function namesIn(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  NAME.lastIndex = 0
  for (let count = 0; count < MAX_NAMES && NAME.lastIndex < text.length; count++) {
    const [, kind, value] = NAME.exec(text) ?? []
    if (kind === undefined || value === undefined) break
    // A value in quotes has characters that no name needs: it names no one.
    if (value.startsWith('"')) continue
    const all = names.get(kind) ?? []
    all.push(value)
    names.set(kind, all)
  }
  return names
}
