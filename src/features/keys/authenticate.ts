import type { Caller, Refusal } from '../../core/caller.js'
import type { Placement } from '../../core/placement.js'
import type { Plan } from '../../core/plan.js'
import { refusedSignedUrl, unauthenticated } from '../../core/refusals.js'
import { SIGNATURE_PARAMETER } from '../../core/signed-url.js'
import { isToken } from '../../core/token-form.js'
import type { Maybe } from '../../kernel/stages.js'
import type { HttpRequest } from '../../transport/exchange.js'
import type { Callers } from './callers.js'

type Headers = Pick<HttpRequest, 'headers' | 'rawHeaders'>

/**
 * Finds the caller whose key the request presents. All refusals are the same 401: no key, an unknown key, an expired
 * or disabled key, and two different keys. Returns a promise if the key must be read from the store.
 */
export function authenticate(
  request: Headers,
  query: URLSearchParams | undefined,
  placements: readonly Placement[],
  callers: Callers,
  plan: Plan,
): Maybe<Caller> {
  const presented = presentedKey(request, query, placements, plan)
  const caller = callers.find(plan, presented, Date.now())
  return caller instanceof Promise
    ? caller.then(one => accepted(one, presented, placements))
    : accepted(caller, presented, placements)
}

function accepted(caller: Caller | Refusal, presented: string, placements: readonly Placement[]): Caller {
  if (!('refused' in caller)) return caller
  if (caller.refused !== 'expired' && caller.refused !== 'disabled' && isToken(presented)) {
    throw unauthenticated(placements, 'a token (JWT), and no identity provider is declared')
  }
  throw unauthenticated(placements, caller.refused)
}

/** The key that the request presents. Throws as {@link authenticate}. */
export function presentedKey(
  request: Headers,
  query: URLSearchParams | undefined,
  placements: readonly Placement[],
  plan?: Plan,
): string {
  const presented = readKey(request, query, placements)
  if (typeof presented === 'string') return presented
  if (presented.refused === NO_KEY && query?.has(SIGNATURE_PARAMETER) === true) {
    throw refusedSignedUrl('none is taken here')
  }
  const misplaced = presented.refused === NO_KEY ? elsewhere(request, query, plan) : undefined
  throw unauthenticated(
    placements,
    misplaced === undefined ? presented.refused : 'a key where none is taken',
    misplaced,
  )
}

/** Whether the request presents anything as a key. */
export function presentsKey(
  request: Headers,
  query: URLSearchParams | undefined,
  placements: readonly Placement[],
): boolean {
  return placements.some(one => readPlacement(request, query, one) !== undefined)
}

/** Every place in which some route takes keys. */
const places = new WeakMap<Plan, readonly Placement[]>()

/** Where a key is that the route does not take there. */
function elsewhere(
  request: Headers,
  query: URLSearchParams | undefined,
  plan: Plan | undefined,
): Placement | undefined {
  if (plan === undefined) return undefined
  const known = places.get(plan) ?? distinct(plan.routes.flatMap(({ caller }) => caller))
  places.set(plan, known)
  return known.find(one => readPlacement(request, query, one) !== undefined)
}

function readKey(
  request: Headers,
  query: URLSearchParams | undefined,
  placements: readonly Placement[],
): string | { readonly refused: string } {
  let found: string | undefined
  for (const placement of placements) {
    const presented = readPlacement(request, query, placement)
    if (presented === undefined) continue
    if (found !== undefined && found !== presented) return { refused: 'two different keys' }
    found = presented
  }
  return found ?? { refused: NO_KEY }
}

function distinct(all: readonly Placement[]): readonly Placement[] {
  return [...new Map(all.map(one => [JSON.stringify(one), one])).values()]
}

/** In which parts of the request that text is presented as a key. */
export function placesOf(
  text: string,
  request: Headers,
  query: URLSearchParams | undefined,
  placements: readonly Placement[],
): readonly Placement['in'][] {
  return placements.filter(one => readPlacement(request, query, one) === text).map(one => one.in)
}

function readPlacement(request: Headers, query: URLSearchParams | undefined, placement: Placement): string | undefined {
  switch (placement.in) {
    case 'header':
      return repeats(request, placement.name) ? REPEATED : readHeader(request.headers[placement.name], placement.scheme)
    case 'query':
      return query?.get(placement.name) ?? undefined
    case 'subprotocol':
      return readSubprotocol(request.headers['sec-websocket-protocol'], placement.prefix)
  }
}

const NO_KEY = 'no key'

/** Matches no key: Node keeps the first of two headers, and the second may be another key. */
const REPEATED = ''

function repeats({ rawHeaders }: Headers, name: string): boolean {
  let seen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? ''
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    if (seen) return true
    seen = true
  }
  return false
}

/** Schemes are compared without case (RFC 9110 §11.1); one or more spaces follow. */
function readHeader(value: string | string[] | undefined, scheme: string | undefined): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  if (scheme === undefined) return value
  if (value.length <= scheme.length || value[scheme.length] !== ' ') return undefined
  if (!value.startsWith(scheme) && value.slice(0, scheme.length).toLowerCase() !== scheme.toLowerCase())
    return undefined
  return value.slice(scheme.length).trim()
}

function readSubprotocol(value: string | undefined, prefix: string): string | undefined {
  const offered = value?.split(',').find(name => name.trim().startsWith(prefix))
  return offered?.trim().slice(prefix.length)
}
