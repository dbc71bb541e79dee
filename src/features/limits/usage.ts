import type { Scope } from '../../core/bounds.js'
import { MICRO_PER_USD } from '../../core/cost.js'
import { StoreError } from '../../core/store.js'
import type { Call } from '../../kernel/call.js'
import { stored } from '../../kernel/stored.js'
import type { Book } from './book.js'
import { SYSTEM_CLOCK } from './clock.js'
import type { Standing } from './standing.js'

/** Longest time in which the store may tell what is used. */
const READ_MS = 5000

/** One bound, as `GET /v1/usage` and the admin API show it. Budgets are in USD. */
export interface ShownLimit {
  readonly scope: Scope['type']
  /** Of the key or the group that has it. */
  readonly name: string
  /** As the configuration calls it: `requests`, `tokens`, `budget`, `in_flight`, `streams`, `max_output`, `body`. */
  readonly unit: string
  /** Null: it counts what there is at once. `request`: it holds for each request alone. */
  readonly window: string | null
  readonly limit: number
  readonly used: number
  /** Held by requests that are not over, and by leases of other processes. */
  readonly reserved: number
  readonly left: number
  /** Seconds since the epoch; null: never. */
  readonly resets_at: number | null
  /** Of budgets. */
  readonly currency?: 'usd'
}

/** Answers what the caller's bounds allow, and what of it is used. Rejects with the store's error. */
export async function answerUsage(call: Call, book: Book): Promise<void> {
  const { caller } = call
  if (caller === undefined) throw new Error('an answer needs a caller')
  const { scopes = [], group } = caller.policy ?? {}
  const limits = (await stored(shownLimits(scopes, book))).flat()
  call.answer(200, { object: 'usage', key: caller.name, group: group ?? null, limits })
}

/** For each scope, its bounds and how much of them is used. Rejects with the store's error. */
export async function shownLimits(
  scopes: readonly Scope[],
  book: Pick<Book, 'read'>,
  clock = SYSTEM_CLOCK,
): Promise<readonly (readonly ShownLimit[])[]> {
  const standings = scopes.length === 0 ? [] : await inTime(book.read(scopes), clock)
  const byScope = new Map<Scope, ShownLimit[]>(scopes.map(scope => [scope, []]))
  for (const one of standings) byScope.get(one.scope)?.push(shown(one))
  return scopes.map(scope => [...(byScope.get(scope) ?? []), ...ofEachRequest(scope)])
}

/** Modules of the user's own may be late, and throw errors of any kind. */
async function inTime(read: Promise<readonly Standing[]>, clock: typeof SYSTEM_CLOCK): Promise<readonly Standing[]> {
  let cancel = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(READ_MS, () => reject(new StoreError('unavailable', 'the store does not answer a read')))
  })
  try {
    return await Promise.race([read, late])
  } catch (cause) {
    throw cause instanceof StoreError ? cause : new StoreError('unavailable', 'the store cannot be read', cause)
  } finally {
    cancel()
  }
}

function shown({ scope, unit, bound, amount, used, reserved, left, endsAt }: Standing): ShownLimit {
  const { type, name } = scope
  const one = unit === 'budget' ? MICRO_PER_USD : 1
  return {
    ...{ scope: type, name, unit, window: typeof bound === 'number' ? null : bound.window },
    ...{ limit: amount / one, used: used / one, reserved: reserved / one, left: left / one },
    resets_at: endsAt === undefined ? null : Math.ceil(endsAt / 1000),
    ...(unit === 'budget' ? { currency: 'usd' } : {}),
  }
}

/** Bounds that nothing is used up of. */
function ofEachRequest({ type, name, limits }: Scope): readonly ShownLimit[] {
  return (['max_output', 'body'] as const).flatMap(unit => {
    const limit = limits[unit]
    if (limit === undefined) return []
    return [{ scope: type, name, unit, window: 'request', limit, used: 0, reserved: 0, left: limit, resets_at: null }]
  })
}
