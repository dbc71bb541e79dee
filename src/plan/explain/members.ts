import type { GatewayError } from '../../core/errors.js'
import { pathText } from '../../core/path-text.js'
import type { Caller, Exchange, ModelTable, Route } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import { shownName } from '../../core/shown-name.js'
import { asBuffer } from '../../wire/bytes.js'
import { findMembers } from '../../wire/find-members.js'
import { apply, type Edit, findValue } from '../../wire/json-edit.js'
import { checkFound, type Naming, nameThere, WHY_DROPPED } from '../../wire/member-names.js'
import type { Admitted } from './admit.js'

/** A request as one upstream may have it, and the client's names of what is removed. */
export interface Allowed {
  readonly admitted: Admitted
  readonly dropped: readonly string[]
}

/** Whose request it is. */
export interface Asker {
  readonly caller: Caller
  readonly models: ModelTable
}

/**
 * Does to the members of a body that name models, or say where the request is to go, what the kernel does. Throws
 * {@link GatewayError} where this upstream cannot have the request.
 */
export function allowedFor(exchange: Exchange, route: Route, admitted: Admitted, asker: Asker): Allowed {
  const { body } = admitted
  const { rules } = route.members.of(exchange.upstream.name)
  if (body === undefined || route.body === 'raw' || rules.length === 0) return { admitted, dropped: [] }
  const found = findMembers(body, rules)
  const dropped = found.dropped.map(at => shownName(pathText(at)))
  if (asker.caller.strict && dropped[0] !== undefined) {
    throw untranslatable(dropped[0], WHY_DROPPED)
  }
  const edits = [...found.removals, ...named(() => checkFound(found), found.names, namingOf(exchange, admitted, asker))]
  if (edits.length === 0) return { admitted, dropped }
  const changed = apply(asBuffer(body), edits)
  return { admitted: { ...admitted, body: changed, ...placeIn(changed, route, admitted) }, dropped }
}

/** Edits that give the models the upstream's names. */
function named(check: () => void, names: ReturnType<typeof findMembers>['names'], naming: Naming): readonly Edit[] {
  check()
  return names.flatMap(found => {
    const name = nameThere(found, naming)
    const { text, start, end } = found
    return name === text ? [] : [{ start, end, bytes: Buffer.from(JSON.stringify(name)) }]
  })
}

function namingOf({ upstream, model }: Exchange, { model: asked }: Admitted, { caller, models }: Asker): Naming {
  const nameOf = (name: string): string | undefined =>
    caller.may(name) ? models.nameAt(name, upstream.name) : undefined
  return { asked, sent: model, nameOf }
}

/** Where the model is after the edits. */
function placeIn(body: Buffer, { model }: Route, { span }: Admitted): Pick<Admitted, 'span'> {
  return { span: span === undefined || model === undefined ? undefined : findValue(body, [model.name]) }
}
