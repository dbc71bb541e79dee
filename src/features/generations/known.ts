import { hash } from 'node:crypto'
import type { Caller, Refusal } from '../../core/caller.js'
import type { Miss } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Maybe } from '../../kernel/stages.js'
import { SOCKET_METHOD } from '../../kernel/upgrade.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { IDENTITIES } from '../identity/service.js'
import { presentedKey } from '../keys/authenticate.js'
import { CALLERS } from '../keys/callers.js'

/** Who presents a key, or a token; `name` is the same for all requests that are counted together. */
export interface Known {
  readonly name: string
  readonly caller?: Caller
}

/** All without a key count as one. */
export const NO_ONE: Known = { name: '' }

/**
 * Whose request it is, by the plan that serves. Never throws: what is wrong with the key is said when the request is admitted.
 * A token that has not been checked is a caller of its own; `isCertain`: it is checked now.
 */
export function knownBy(kernel: Kernel, request: HttpRequest, isCertain: boolean): Maybe<Known> {
  const { plan } = kernel.generation
  const presented = presentedBy(kernel, request)
  if (presented === undefined) return NO_ONE
  const now = Date.now()
  const identities = plan.identity === undefined ? undefined : kernel.need(IDENTITIES)
  const identified = identities?.known(plan, presented, now)
  if (identified !== undefined) return knownAs(identified.caller)
  const unknown: Known = { name: hash('sha256', presented) }
  const known = keyOf(kernel, presented, unknown, now)
  if (identities === undefined || !isCertain) return known
  const checked = async (one: Known): Promise<Known> => {
    if (one !== unknown) return one
    return await identities.find(plan, presented, 'header', now).then(
      ({ caller }) => knownAs(caller),
      () => unknown,
    )
  }
  return known instanceof Promise ? known.then(checked) : checked(known)
}

/** The holder of a key of the file or the store; `unknown` where there is none, or the store cannot say. */
function keyOf(kernel: Kernel, presented: string, unknown: Known, now: number): Maybe<Known> {
  const holder = (found: Caller | Refusal): Known => ('refused' in found ? unknown : knownAs(found))
  try {
    const found = kernel.need(CALLERS).find(kernel.generation.plan, presented, now)
    return found instanceof Promise ? found.then(holder, () => unknown) : holder(found)
  } catch {
    return unknown
  }
}

function knownAs(caller: Caller): Known {
  return { name: caller.name, caller }
}

/** The key or token that a request presents; undefined: none, or two. */
function presentedBy({ generation: { plan } }: Kernel, request: HttpRequest): string | undefined {
  const { target, headers } = request
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? undefined : new URLSearchParams(target.slice(mark + 1))
  const method = headers.upgrade === undefined ? request.method : SOCKET_METHOD
  const match = plan.match(method, path, headers)
  try {
    return presentedKey(request, query, (match.route ?? (match as Miss)).caller)
  } catch {
    return undefined
  }
}
