import { type Bound, hasBudget, type Scope, type ScopeType, type Tariff } from './bounds.js'
import { MICRO_PER_USD } from './cost.js'
import { type Family, GatewayError } from './errors.js'

/** The bound that has no room; `store`: it cannot be asked. */
interface Reached {
  readonly scope: Pick<Scope, 'type'>
  readonly unit: Bound['unit'] | 'in_flight' | 'streams' | 'store'
  /** A number: of places. */
  readonly bound: Bound | number
  /** Until it may have room again; undefined: never, or not known. */
  readonly retryAfterMs: number | undefined
  /** For the operator alone. */
  readonly cause?: string
}

/** Clients see neither names of upstreams nor of other keys. */
const HOLDERS: Readonly<Record<ScopeType, string>> = {
  key: 'this key',
  group: 'the group of this key',
  model: 'this model',
  upstream: 'the service of this model',
}

/** By family, how its own services say that the money is spent, where it is not 429: its clients' SDKs know these. */
const SPENT: Partial<
  Readonly<Record<Family, { readonly status?: number; readonly code?: string; readonly message?: string }>>
> = {
  compatible: { code: 'insufficient_quota' },
  messages: { status: 402 },
  'image-tasks': { code: '4', message: 'quota_not_enough' },
}

/** SDKs retry 429; no wait of theirs outlasts a budget. */
const NO_RETRY = ['x-should-retry', 'false']

/** Why a request is refused, in the way of the client's family. */
export function refused(shortage: Reached, family: Family): GatewayError {
  switch (shortage.unit) {
    case 'budget':
      return spent(shortage, family)
    case 'store':
      return new GatewayError('unavailable', 'Limits cannot be checked at the moment. Try again soon.', {
        retryAfter: shortage.retryAfterMs,
        limit: 'store',
      })
    default:
      return limited(shortage)
  }
}

function spent({ scope, bound, cause }: Reached, family: Family): GatewayError {
  const { status, code, message } = SPENT[family] ?? {}
  const what = `the budget of ${HOLDERS[scope.type]}, ${sizeOf(bound, 'USD')}`
  const text = `You exceeded your current quota: ${what}, does not cover this request.`
  return new GatewayError('budget_spent', message ?? text, {
    ...(status !== undefined && { status }),
    ...(code !== undefined && { familyCode: code }),
    headers: NO_RETRY,
    limit: 'budget',
    cause,
  })
}

/** Places come free as soon as another request ends, milliseconds. */
const PLACE_RETRY_MS = 1000

const NOUNS: Readonly<Record<Reached['unit'], string>> = {
  requests: 'requests',
  tokens: 'tokens',
  budget: 'USD',
  in_flight: 'requests at once',
  streams: 'streams at once',
  store: '',
}

function limited({ scope, unit, bound, retryAfterMs, cause }: Reached): GatewayError {
  const reached = `Rate limit reached for ${HOLDERS[scope.type]}: ${sizeOf(bound, NOUNS[unit])}.`
  // What is larger than the bound never fits, and what is used up in total does not come back.
  const isForGood = retryAfterMs === undefined && typeof bound !== 'number'
  return new GatewayError('rate_limited', `${reached} ${isForGood ? adviceFor(bound) : 'Try again later.'}`, {
    retryAfter: isForGood ? undefined : Math.max(1, retryAfterMs ?? PLACE_RETRY_MS),
    ...(isForGood && { headers: NO_RETRY }),
    limit: unit,
    cause,
  })
}

function adviceFor({ window }: Bound): string {
  return window === 'total' ? 'This limit does not renew.' : 'This request may take more by itself.'
}

function sizeOf(bound: Bound | number, noun: string): string {
  if (typeof bound === 'number') return `${bound} ${counted(noun, bound)}`
  const amount = bound.unit === 'budget' ? bound.amount / MICRO_PER_USD : bound.amount
  return `${amount} ${counted(noun, amount)} ${bound.window === 'total' ? 'in total' : `per ${bound.window}`}`
}

function counted(noun: string, amount: number): string {
  return amount === 1 ? noun.replace(/s\b/, '') : noun
}

export function networkForbidden(): GatewayError {
  return new GatewayError('forbidden', 'This key may not be used from this address.', { limit: 'networks' })
}

export function outputTooLarge(asked: number, most: number, param: string | undefined): GatewayError {
  const message = `The request asks for ${asked} tokens of output; the limit (max_output) is ${most}.`
  return new GatewayError('invalid_parameter', message, { param, rule: 'range', limit: 'max_output' })
}

/**
 * A budget does not let pass what it cannot count, unless it says so: how one of these scopes refuses it. `lines`: of a batch, as
 * many as are known.
 */
export function priceRefusal(
  tariff: Tariff | undefined,
  scopes: readonly (readonly Scope[])[],
  model: string,
  lines?: number,
): GatewayError | undefined {
  const price = tariff?.price
  const isCounted = lines === undefined ? price !== undefined : price?.request !== undefined && lines > 0
  if (isCounted) return undefined
  const refuses = ({ limits }: Scope): boolean =>
    hasBudget(limits) && (limits.unpriced ?? tariff?.unpriced ?? 'refuse') === 'refuse'
  if (!scopes.some(list => list.some(refuses))) return undefined
  if (lines !== undefined && price?.request !== undefined) return uncounted()
  return unpriced(lines === undefined ? `The model \`${model}\`` : 'A batch')
}

/** A batch in a file whose lines were not counted when it was uploaded. */
function uncounted(): GatewayError {
  const message = 'A batch is covered by a budget only if its file was uploaded in one request, as a form.'
  return new GatewayError('forbidden', message, { limit: 'budget' })
}

/** A budget that cannot say what a request may cost. */
function unpriced(what: string): GatewayError {
  return new GatewayError(
    'forbidden',
    `${what} has no price, and the budget of this key does not cover what has none.`,
    {
      limit: 'budget',
    },
  )
}
