import { GatewayError } from '../../core/errors.js'
import { type MemberRule, type MemberRules, memberName } from '../../core/members.js'
import { type DocumentPath, pathText } from '../../core/path-text.js'
import type { Exchange, Route } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import { shownName } from '../../core/shown-name.js'
import type { Body, FormBody, HeldBody, MemberChanges } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { hasChanges, isOwnQuery, placeOf, setChanges } from '../../kernel/changes.js'
import type { Feature } from '../../kernel/stages.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { type FoundMembers, findMembers } from '../../wire/find-members.js'
import { apply } from '../../wire/json-splice.js'
import { checkFound, heldQuery, type Naming, nameThere, WHY_DROPPED } from '../../wire/member-names.js'

/** Body members and query parameters that name models, or that no upstream may get. */
export const members: Feature = {
  name: 'members',
  compile({ route }) {
    if (route === undefined || route.lane === 'answer') return undefined
    return {
      name: 'members',
      narrow: (call, candidates, body) =>
        mayBeRuled(call, route, body) ? checkMembers(call, route, body, candidates) : candidates,
    }
  },
}

/** Whether the route's rules may concern anything in a request. */
export function mayBeRuled({ query }: Call, { members }: Route, body: Body): boolean {
  if (query !== undefined && query.size > 0) return true
  if (members.any.length === 0) return false
  if (body.type === 'bytes') return body.ruled !== false
  return body.type === 'form' && body.form.parts.some(({ part }) => ruleOf(part.name, members.any) !== undefined)
}

/**
 * The exchanges that can serve a request with all the models that it names. Records the changes for each: the upstream's names
 * of models, and members that the rules remove. Throws if no exchange can.
 */
export async function checkMembers(
  call: Call,
  route: Route,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[]> {
  if (body.type === 'bytes') await yieldToEventLoop(body.bytes.length)
  const found = new Map<MemberRules, FoundMembers>()
  const changes = new Map<string, MemberChanges>()
  let refusal: unknown
  for (const exchange of exchanges) {
    const rules = route.members.of(exchange.upstream.name)
    const members = found.get(rules) ?? membersOf(body, rules.rules)
    found.set(rules, members)
    try {
      changes.set(placeOf(exchange), changesFor(call, route, exchange, members, rules))
    } catch (cause) {
      refusal ??= cause
    }
  }
  if (changes.size === 0 && refusal !== undefined) throw refusal
  setChanges(call, changes)
  return exchanges.filter(exchange => changes.has(placeOf(exchange)))
}

/** The JSON body for an exchange that gets a form as JSON. */
export function jsonWithMembers(call: Call, route: Route, exchange: Exchange, body: HeldBody): HeldBody {
  if (!hasChanges(call)) return body
  const rules = route.members.of(exchange.upstream.name)
  const { edits } = changesFor(call, route, exchange, findMembers(body.bytes, rules.rules), rules)
  return edits.length === 0 ? body : { ...body, bytes: apply(body.bytes, edits), model: undefined, document: undefined }
}

const EMPTY: FoundMembers = { names: [], refused: [], dropped: [], removals: [] }

function membersOf(body: Body, rules: readonly MemberRule[]): FoundMembers {
  if (rules.length === 0) return EMPTY
  if (body.type === 'bytes') return body.ruled === false ? EMPTY : findMembers(body.bytes, rules)
  return body.type === 'form' ? fieldsOf(body, rules) : EMPTY
}

/** The members of a form's fields. Their offsets are unused: a field is identified by its name. */
function fieldsOf({ form }: FormBody, rules: readonly MemberRule[]): FoundMembers {
  const found = { ...EMPTY, names: [] as FoundMembers['names'][number][], refused: [] as DocumentPath[] }
  const dropped: DocumentPath[] = []
  for (const { part, field } of form.parts) {
    const at = [part.name]
    const action = ruleOf(part.name, rules)?.action
    // A file cannot name a model.
    if (action === 'refuse' || (field === undefined && action !== undefined && action !== 'drop'))
      found.refused.push(at)
    else if (action === 'drop') dropped.push(at)
    else if (action !== undefined) found.names.push({ action, at, text: field?.value ?? '', start: 0, end: 0 })
  }
  return { ...found, dropped }
}

/** The rule for a form's field, in every form that servers may read: `models[]`, `tools[0][model]`, `tools.0.model`. */
function ruleOf(field: string, rules: readonly MemberRule[]): MemberRule | undefined {
  const written = memberName(field)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(segment => !INDEX.test(segment))
  return rules.find(({ path }) => {
    const named = path.filter(segment => segment !== '*')
    return named.length > 0 && named.every((segment, index) => segment === written[index])
  })
}

/** An index, or nothing between two separators. */
const INDEX = /^\d*$/

function changesFor(
  call: Call,
  route: Route,
  exchange: Exchange,
  found: FoundMembers,
  rules: MemberRules,
): MemberChanges {
  checkFound(found)
  const { names, dropped, removals } = found
  const naming = namingOf(call, exchange, call.model)
  const query = heldQuery(call.query, route.members, rules, naming, (name, value) => isOwnQuery(call, name, value))
  const out = [...dropped.map(pathText), ...[...query].map(name => `?${name}`)].map(shownName)
  if (call.caller?.strict === true && out[0] !== undefined) throw untranslatable(out[0], WHY_DROPPED)
  const edits = [...removals]
  const fields = new Map<string, string | undefined>(dropped.map(at => [String(at[0]), undefined]))
  for (const one of names) {
    const { at, text, start, end } = one
    const name = nameThere(one, naming)
    if (name === text) continue
    if (end > start) edits.push({ start, end, bytes: Buffer.from(JSON.stringify(name)) })
    else fields.set(onlyField(names, at), name)
  }
  return { edits, fields, query, dropped: out }
}

/** The name of a field to change, which must be the only one with that name. */
function onlyField(names: FoundMembers['names'], [name]: DocumentPath): string {
  const param = shownName(String(name))
  if (names.filter(({ at }) => at[0] === name).length === 1) return String(name)
  throw new GatewayError('invalid_parameter', `The field '${param}' must occur only once.`, { param })
}

/** How the exchange's upstream names the models that the caller may use. */
export function namingOf({ caller, generation }: Call, exchange: Exchange, asked: string): Naming {
  const { models } = generation.plan
  const nameOf = (name: string): string | undefined =>
    caller?.may(name) === true ? models.nameAt(name, exchange.upstream.name) : undefined
  return { asked, sent: exchange.model, nameOf }
}
