import { createPrivateKey, X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { numbered } from '../core/numbered.js'
import type { FileContent } from '../core/process-config.js'
import { Secret } from '../core/secret.js'
import type { Context } from './context.js'
import type { Site } from './document.js'

const DAY_MS = 86_400_000
/** Largest file of certificates or of a key. */
const MAX_PEM_BYTES = 1024 * 1024
/** How long before its end a certificate is warned of. */
const AHEAD_MS = 14 * DAY_MS
/** Most certificates of one file that are looked at: a bundle of authorities has some 150. */
const MAX_CERTIFICATES = 1000

const BLOCK = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g

/**
 * Warns of certificates of a PEM file that are not valid at this time, or will not be for long: they break every
 * connection, and anyone who renews them wants to know before that. Blocks that are not certificates are not ours to judge.
 */
export function warnOfValidity(pem: string, site: Site, { report, now }: Pick<Context, 'report' | 'now'>): void {
  const faults = (pem.match(BLOCK) ?? []).slice(0, MAX_CERTIFICATES).flatMap(block => faultOf(block, now) ?? [])
  const [first] = faults
  if (first === undefined) return
  const more = faults.length === 1 ? '' : `; so are ${faults.length - 1} more in this file`
  report.warn('certificate-validity', site, `${first}${more}`)
}

function faultOf(block: string, now: number): string | undefined {
  const certificate = attempt(() => new X509Certificate(block))
  if (certificate === undefined) return undefined
  const { subject, validFrom, validTo } = certificate
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  const name =
    subject === undefined || subject === '' ? 'a certificate' : `the certificate of ${subject.replaceAll('\n', ', ')}`
  if (now > to) return `${name} expired on ${day(to)}`
  if (now < from) return `${name} is not valid before ${day(from)}`
  return to - now < AHEAD_MS ? `${name} expires on ${day(to)}, in ${left(to - now)}` : undefined
}

/** A certificate and the key that belongs to it, each as it is written and where. Undefined with a problem, which the report has. */
export function readPair(
  [certificatePath, certificateSite]: readonly [string, Site],
  [keyPath, keySite]: readonly [string, Site],
  context: Context,
): { readonly certificate: FileContent; readonly key: FileContent } | undefined {
  const certificate = readPem(certificatePath, certificateSite, context)
  const key = readPem(keyPath, keySite, context)
  if (certificate === undefined || key === undefined) return undefined
  const read = attempt(() => new X509Certificate(certificate.content.reveal()))
  const privateKey = attempt(() => createPrivateKey(key.content.reveal()))
  const fault = (site: Site, message: string): undefined => {
    context.report.error('bad-certificate', site, message)
  }
  if (read === undefined) return fault(certificateSite, NO_CERTIFICATE)
  if (privateKey === undefined) return fault(keySite, 'this file does not contain an unencrypted PEM private key')
  if (!read.checkPrivateKey(privateKey)) return fault(keySite, 'this key does not belong to the certificate')
  warnOfValidity(certificate.content.reveal(), certificateSite, context)
  return { certificate, key }
}

/** A file of authorities. */
export function readAuthorities(path: string, site: Site, context: Context): FileContent | undefined {
  const file = readPem(path, site, context)
  if (file === undefined) return undefined
  const blocks = file.content.reveal().match(BLOCK) ?? []
  if (blocks.length === 0 || attempt(() => new X509Certificate(blocks[0] ?? '')) === undefined) {
    context.report.error('bad-certificate', site, NO_CERTIFICATE)
    return undefined
  }
  warnOfValidity(file.content.reveal(), site, context)
  return file
}

/** A file of lists of revoked certificates. */
export function readRevocations(path: string, site: Site, context: Context): FileContent | undefined {
  const file = readPem(path, site, context)
  if (file === undefined) return undefined
  const crl = file.content.reveal()
  if (attempt(() => createSecureContext({ crl })) !== undefined) return file
  context.report.error(
    'bad-certificate',
    site,
    'this file does not contain a PEM list of revoked certificates (X509 CRL)',
  )
  return undefined
}

const NO_CERTIFICATE = 'this file does not contain a PEM certificate'

function readPem(written: string, site: Site, { files, report }: Context): FileContent | undefined {
  // A variable that is not set has already been reported.
  if (report.unfilled.has(written)) return undefined
  const path = resolve(site.document.source.folder, written)
  const result = files.read(path, MAX_PEM_BYTES)
  if ('bytes' in result) return { path, content: new Secret(result.bytes.toString('utf8')) }
  report.error('unreadable-file', site, `cannot read this file: ${result.reason}`)
  return undefined
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

function day(time: number): string {
  return new Date(time).toISOString().replace(/:\d\d\.000Z$/, 'Z')
}

function left(milliseconds: number): string {
  const days = Math.floor(milliseconds / DAY_MS)
  return days === 0 ? 'less than a day' : numbered(days, 'day')
}
