import type { Caller } from '../../core/caller.js'
import type { GatewayError } from '../../core/errors.js'
import { pathText } from '../../core/path-text.js'
import type { Exchange, Plan, Route } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import { shownName } from '../../core/shown-name.js'
import { asBuffer } from '../../wire/bytes.js'
import { findMembers } from '../../wire/find-members.js'
import { apply, type Edit, findValue } from '../../wire/json-edit.js'
import { checkFound, heldQuery, type Naming, nameThere, ownQuery, WHY_DROPPED } from '../../wire/member-names.js'
import type { IsReserved } from '../../wire/query.js'
import type { ReadRequest } from './read-request.js'

/** A request as one upstream may have it. */
export interface Allowed {
  readonly read: ReadRequest
  /** The client's names of what is removed. */
  readonly dropped: readonly string[]
  /** Whether a query parameter does not pass. */
  readonly isHeld: IsReserved
}

/** Whose request it is. */
export interface Asker {
  readonly caller: Caller
  readonly plan: Pick<Plan, 'models' | 'keys' | 'media'>
}

/** A request and how it was found. */
export interface Asked {
  readonly route: Route
  readonly query: URLSearchParams | undefined
  readonly read: ReadRequest
  readonly asker: Asker
}

/**
 * Does to the members of a body, and to the parameters of a query, that name models, or say where the request is to go, what
 * the kernel does. Throws {@link GatewayError} where this upstream cannot have the request.
 */
export function allowedFor(exchange: Exchange, { route, query, read, asker }: Asked): Allowed {
  const rules = route.members.of(exchange.upstream.name)
  const body = route.body === 'raw' ? undefined : read.body
  const found = body && findMembers(body, rules.rules)
  if (found !== undefined) checkFound(found)
  const naming = namingOf(exchange, read, asker)
  const isKey = (text: string): boolean => !('refused' in asker.plan.keys.find(text, Date.now()))
  const isOwn: IsReserved = (name, value) => ownQuery(route, isKey, true, name, value)
  const held = heldQuery(query, route.members, rules, naming, isOwn)
  const dropped = [...(found?.dropped ?? []).map(pathText), ...[...held].map(name => `?${name}`)].map(shownName)
  if (asker.caller.strict && dropped[0] !== undefined) throw untranslatable(dropped[0], WHY_DROPPED)
  const rest = { dropped, isHeld: (name: string, value: string) => held.has(name) || isOwn(name, value) }
  const edits = found === undefined ? [] : [...found.removals, ...named(found.names, naming)]
  if (body === undefined || edits.length === 0) return { ...rest, read }
  const changed = apply(asBuffer(body), edits)
  return { ...rest, read: { ...read, body: changed, ...placeIn(changed, route, read) } }
}

/** Edits that give the models the upstream's names. */
function named(names: ReturnType<typeof findMembers>['names'], naming: Naming): readonly Edit[] {
  return names.flatMap(found => {
    const name = nameThere(found, naming)
    const { text, start, end } = found
    return name === text ? [] : [{ start, end, bytes: Buffer.from(JSON.stringify(name)) }]
  })
}

function namingOf(
  { upstream, model }: Exchange,
  { model: asked }: ReadRequest,
  { caller, plan: { models } }: Asker,
): Naming {
  const nameOf = (name: string): string | undefined =>
    caller.may(name) ? models.nameAt(name, upstream.name) : undefined
  return { asked, sent: model, nameOf }
}

/** Where the model is after edits. */
export function placeIn(body: Buffer, { model }: Route, { span }: ReadRequest): Pick<ReadRequest, 'span'> {
  return { span: span === undefined || model === undefined ? undefined : findValue(body, [model.name]) }
}
