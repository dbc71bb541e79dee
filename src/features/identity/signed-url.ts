import type { Caller, Refusal } from '../../core/caller.js'
import { Glob } from '../../core/glob.js'
import type { Placement } from '../../core/placement.js'
import type { Route } from '../../core/plan.js'
import { refusedSignedUrl } from '../../core/refusals.js'
import {
  EXPIRES_PARAMETER,
  isSignedBy,
  KEY_PARAMETER,
  SIGNATURE_PARAMETER,
  type SignedUrls,
} from '../../core/signed-url.js'
import type { Arrival } from '../../kernel/arrival.js'
import type { Maybe } from '../../kernel/stages.js'
import { presentsKey } from '../keys/authenticate.js'
import { CALLERS } from '../keys/callers.js'

/** How far the clock of who signs may be ahead, milliseconds. */
const CLOCK_SKEW_MS = 60_000

export type FindSigned = (call: Arrival, placements: readonly Placement[]) => Maybe<Caller | undefined>

/** Finds callers by the signature of the address; undefined where there is none. Which routes take them is known beforehand. */
export function signedCallers(declared: SignedUrls, route: Route | undefined): FindSigned {
  const id = route?.id.replace(/^HEAD /, 'GET ')
  const isTaken = id !== undefined && declared.routes.some(one => new Glob(one).matches(id))
  return (call, placements) => {
    if (call.query?.has(SIGNATURE_PARAMETER) !== true) return undefined
    if (!isTaken) throw refusedSignedUrl('none is taken on this path')
    if (presentsKey(call.request, call.query, placements)) throw refusedSignedUrl('a key was sent beside it')
    return callerOf(call, call.query, declared)
  }
}

/** A used address may be used again until it expires. */
function callerOf(call: Arrival, query: URLSearchParams, { secret, previous, maxAge }: SignedUrls): Maybe<Caller> {
  const [key, expires, signature] = [KEY_PARAMETER, EXPIRES_PARAMETER, SIGNATURE_PARAMETER].map(name => {
    const [one, ...others] = query.getAll(name)
    return others.length === 0 ? one : undefined
  })
  if (key === undefined || signature === undefined || expires === undefined || !/^\d{1,12}$/.test(expires)) {
    const parameters = `${KEY_PARAMETER}, ${EXPIRES_PARAMETER} and ${SIGNATURE_PARAMETER}`
    throw refusedSignedUrl(`its parameters are not ${parameters}, once each`)
  }
  const method = (call.route?.method ?? '').replace(/^HEAD$/, 'GET')
  const { target } = call.request
  const signed = { method, path: call.path, query: target.slice(target.indexOf('?') + 1) }
  if (![secret, ...previous].some(one => isSignedBy(signature, signed, one.reveal()))) {
    throw refusedSignedUrl('its signature is not of this method, path and query')
  }
  const left = Number(expires) * 1000 - Date.now()
  if (left <= 0) throw refusedSignedUrl('it has expired')
  if (left > maxAge + CLOCK_SKEW_MS) throw refusedSignedUrl('it expires later than signed URLs may (max_age)')
  const found = call.kernel.need(CALLERS).named(call.generation.plan, key, Date.now())
  return found instanceof Promise ? found.then(admitted) : admitted(found)
}

function admitted(found: Caller | Refusal): Caller {
  if ('refused' in found) throw refusedSignedUrl('its key is not valid', `its key: ${found.refused}`)
  return found
}
