import type { Caller, Refusal } from '../../core/caller.js'
import { GatewayError } from '../../core/errors.js'
import type { Placement } from '../../core/placement.js'
import type { Miss } from '../../core/plan.js'
import { refusedCertificate, unauthenticated } from '../../core/refusals.js'
import { SIGNATURE_PARAMETER } from '../../core/signed-url.js'
import { isToken } from '../../core/token-form.js'
import type { Arrival } from '../../kernel/arrival.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Maybe, Service } from '../../kernel/stages.js'
import type { ClientCertificate } from '../../transport/client-certificate.js'
import { placesOf, presentedKey, presentsKey } from '../keys/authenticate.js'
import { CALLERS } from '../keys/callers.js'
import { certificateFault } from './certificate.js'
import { IssuerFault } from './fetch-json.js'
import { type Identified, Identities } from './identities.js'
import { IDENTITIES, IDENTITY } from './service.js'
import { type FindSigned, signedCallers } from './signed-url.js'
import { MisplacedToken, TokenFault } from './verify.js'

/** How long a client waits before it asks again while an issuer is away, milliseconds. */
const RETRY_AFTER_MS = 5000

class IdentityService implements Service {
  readonly identities: Identities

  constructor(kernel: Kernel) {
    this.identities = new Identities(kernel)
    kernel.provide(IDENTITIES, this.identities)
  }

  adopt(plan: Parameters<NonNullable<Service['adopt']>>[0]): void {
    this.identities.adopt(plan)
  }
}

/** Finds callers by certificates, signed addresses, and tokens of declared issuers. Keys come first: a text that is one is never taken for a token. */
export const identity: Feature<IdentityService> = {
  name: 'identity',
  open: kernel => new IdentityService(kernel),
  compile({ plan, route }, { identities }) {
    const { identity: config } = plan
    if (config === undefined) return undefined
    const { signedUrls } = config
    const findSigned = signedUrls === undefined ? undefined : signedCallers(signedUrls, route)
    const asks = Object.values(config.providers).some(({ introspection }) => introspection !== undefined)
    return {
      name: 'identity',
      identify: call => identify(call, (route ?? (call.match as Miss)).caller, { identities, asks, findSigned }),
      isKey: text => identities.known(plan, text, Date.now()) !== undefined,
    }
  },
}

/** Refuses requests without a good certificate where all need one, before anything else says who asks. */
export const requiredCertificates: Feature = {
  name: 'certificates',
  compile: ({ plan }) =>
    plan.identity?.certificates?.required === true ? { name: 'certificates', identify: needsCertificate } : undefined,
}

function needsCertificate({ request: { certificate } }: Arrival): undefined {
  if (certificate === undefined) throw refusedCertificate(undefined)
  checkCertificate(certificate)
}

function checkCertificate(certificate: ClientCertificate): void {
  const fault = certificateFault(certificate, Date.now())
  if (fault !== undefined) throw refusedCertificate(fault)
}

/** How callers are found. */
interface Ways {
  readonly identities: Identities
  /** Whether an issuer is asked about texts that are not JWTs. */
  readonly asks: boolean
  readonly findSigned: FindSigned | undefined
}

function identify(
  call: Arrival,
  placements: readonly Placement[],
  { identities, asks, findSigned }: Ways,
): Maybe<Caller | undefined> {
  const { plan } = call.generation
  const isSigned = findSigned !== undefined && call.query?.has(SIGNATURE_PARAMETER) === true
  const byCertificate = certified(call, placements, isSigned, identities)
  if (byCertificate !== undefined) return byCertificate
  const bySignature = findSigned?.(call, placements)
  if (bySignature !== undefined) return bySignature
  const presented = presentedKey(call.request, call.query, placements, plan)
  if (!asks && !isToken(presented)) return undefined
  const now = Date.now()
  const known = identities.known(plan, presented, now)
  const places = placesOf(presented, call.request, call.query, placements)
  const accepts = (one: string): boolean =>
    places.every(place => plan.identity?.providers[one]?.acceptIn.includes(place) === true)
  if (known !== undefined && accepts(known.provider)) return admitted(call, known)
  const key = call.kernel.need(CALLERS).find(plan, presented, now)
  const ask = (found: Caller | Refusal): Maybe<Caller | undefined> => {
    if (!('refused' in found) || (found.refused !== 'unknown' && found.refused !== 'malformed')) return undefined
    const place = places.find(one => one !== 'header') ?? 'header'
    return identities.find(plan, presented, place, now).then(
      one => admitted(call, one),
      (cause: unknown) => {
        throw refusal(cause, placements, place)
      },
    )
  }
  return key instanceof Promise ? key.then(ask) : ask(key)
}

/** The caller whose certificate is taken in place of a key. Throws if it counts alone, and is not good. */
function certified(
  call: Arrival,
  placements: readonly Placement[],
  isSigned: boolean,
  identities: Identities,
): Caller | undefined {
  const { request, query, generation } = call
  const declared = generation.plan.identity?.certificates
  if (declared === undefined) return undefined
  const { certificate } = request
  if (certificate === undefined || isSigned || presentsKey(request, query, placements)) return undefined
  checkCertificate(certificate)
  try {
    return admitted(call, identities.byCertificate(generation.plan, declared, certificate))
  } catch (cause) {
    throw cause instanceof TokenFault ? refusedCertificate('it belongs to no caller', cause.message) : cause
  }
}

function admitted(call: Arrival, identified: Identified): Caller {
  call.set(IDENTITY, identified)
  return identified.caller
}

/** The client gets the same answer as for a key. */
function refusal(cause: unknown, placements: readonly Placement[], place: Placement['in']): unknown {
  if (cause instanceof MisplacedToken) {
    const misplaced = placements.find(one => one.in === place)
    return unauthenticated(placements, `token: ${cause.message}`, misplaced)
  }
  if (cause instanceof TokenFault) return unauthenticated(placements, `token: ${cause.message}`)
  if (!(cause instanceof IssuerFault)) return cause
  return new GatewayError('unavailable', 'The issuer of this token cannot be asked at the moment.', {
    cause: cause.message,
    retryAfter: RETRY_AFTER_MS,
  })
}
