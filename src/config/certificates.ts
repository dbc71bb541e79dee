import { X509Certificate } from 'node:crypto'
import type { Context } from './context.js'
import type { Site } from './document.js'

const DAY_MS = 86_400_000
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
  const certificate = attempt(block)
  if (certificate === undefined) return undefined
  const { subject, validFrom, validTo } = certificate
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  const name =
    subject === undefined || subject === '' ? 'a certificate' : `the certificate of ${subject.replaceAll('\n', ', ')}`
  if (now > to) return `${name} expired on ${day(to)}`
  if (now < from) return `${name} is not valid before ${day(from)}`
  return to - now < AHEAD_MS ? `${name} expires on ${day(to)}, in ${left(to - now)}` : undefined
}

function attempt(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function day(time: number): string {
  return new Date(time).toISOString().replace(/:\d\d\.000Z$/, 'Z')
}

function left(milliseconds: number): string {
  const days = Math.floor(milliseconds / DAY_MS)
  return days === 0 ? 'less than a day' : `${days} day${days === 1 ? '' : 's'}`
}
