import { CredentialFault } from '../net/signer.js'

/** This machine, and where clouds tell a machine who it is, which no router passes on. */
const NEARBY =
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|169\.254\.\d+\.\d+|\[fd00:ec2::[0-9a-f]+\]|metadata(\.google\.internal)?)$/

/** An address that the variable `name` has: over TLS, or nearby. Throws otherwise: credentials would travel in the clear. */
export function guardedAddress(text: string, name: string, base?: string): URL {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && NEARBY.test(url.hostname))) return url
  const where = url?.host ?? 'what is not an address'
  throw new CredentialFault(
    `credentials are not fetched from ${where}: expected https, or an address of this machine (${name})`,
  )
}
