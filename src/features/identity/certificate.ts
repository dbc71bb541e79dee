import { isIP } from 'node:net'
import type { Json, JsonObject } from '../../core/json.js'
import type { ClientCertificate } from '../../transport/client-certificate.js'

/** Words for the faults that callers can do something about; others have OpenSSL's name. */
const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'no authority vouches for it',
  SELF_SIGNED_CERT_IN_CHAIN: 'its authority is not one of those that count here',
  UNABLE_TO_GET_ISSUER_CERT: 'its authority is not one of those that count here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its authority is not one of those that count here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its authority is not one of those that count here',
  CERT_REVOKED: 'it has been revoked',
  UNABLE_TO_GET_CRL: 'its authority has given no list of revoked certificates',
  CRL_SIGNATURE_FAILURE: 'the list of revoked certificates is not one of its authority',
  CRL_HAS_EXPIRED: 'the list of revoked certificates of its authority has expired',
  INVALID_PURPOSE: 'it is not for clients',
}

/** Why a certificate does not count at this time; undefined: it does. */
export function certificateFault({ fault, until }: ClientCertificate, now: number): string | undefined {
  if (fault !== undefined) return FAULTS[fault] ?? fault
  return now < until ? undefined : FAULTS.CERT_HAS_EXPIRED
}

/**
 * What a certificate says, as claims: `sub` is its SPIFFE id, or else the name of its subject. An id counts only if it is the
 * one URI of the certificate (SPIFFE X.509-SVID §2).
 */
export function claimsOf({ subject, issuer, names, fingerprint }: ClientCertificate): JsonObject {
  const uris = names.get('URI') ?? []
  const spiffe = uris.length === 1 && /^spiffe:\/\/[a-z0-9._-]+\/[\w./-]+$/.test(uris[0] ?? '') ? uris[0] : undefined
  const common = typeof subject.CN === 'string' ? subject.CN : undefined
  const sub = spiffe ?? common
  const ips = (names.get('IP Address') ?? []).filter(one => isIP(one) !== 0)
  return {
    ...(sub === undefined ? {} : { sub }),
    ...(spiffe === undefined ? {} : { spiffe, trust_domain: new URL(spiffe).host }),
    ...(common === undefined ? {} : { cn: common }),
    ...{ uri: uris, dns: names.get('DNS') ?? [], email: names.get('email') ?? [], ip: ips },
    ...{ subject: subject as Readonly<Record<string, Json>>, issuer: issuer as Readonly<Record<string, Json>> },
    fingerprint,
  }
}
