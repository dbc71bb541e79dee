import { GatewayError } from '../core/errors.js'
import { type MemberAction, type MemberRules, memberName, type RouteMembers } from '../core/members.js'
import { pathText } from '../core/path-text.js'
import type { Route } from '../core/plan.js'
import { shownName } from '../core/shown-name.js'
import { isOfSignature } from '../core/signed-url.js'
import type { FoundMembers, FoundName } from './find-members.js'

/** Max models that one request may name. */
const MAX_NAMES = 64
/** Prefix of a model's name in the native protocol. */
const COLLECTION = 'models/'

/** A request's model, and one upstream's names of models. */
export interface Naming {
  readonly asked: string
  readonly sent: string
  /** The upstream's name of another model; undefined if the caller may not use it or it does not exist. */
  nameOf(model: string): string | undefined
}

/** Why members that choose who serves a request are left out. */
export const WHY_DROPPED = 'it would choose the upstream of the request, which the gateway does'

/** Throws `invalid_parameter` if a member is refused, or too many models are named. */
export function checkFound({ names, refused }: Pick<FoundMembers, 'names' | 'refused'>): void {
  const [first] = refused
  if (first !== undefined) throw refusedMember(pathText(first))
  if (names.length > MAX_NAMES) {
    throw new GatewayError('invalid_parameter', `The request names more than ${MAX_NAMES} models.`, { limit: 'models' })
  }
}

function refusedMember(param: string): GatewayError {
  const name = shownName(param)
  const message = `'${name}' is not allowed: the gateway decides where a request goes, and with which credential.`
  return new GatewayError('invalid_parameter', message, { param: name, familyCode: 'unknown_parameter' })
}

/** The name sent to the upstream for one that was found. Throws `model_not_found` or `invalid_parameter`. */
export function nameThere(found: Pick<FoundName, 'action' | 'at' | 'text'>, naming: Naming): string {
  return found.action === 'same' ? repeated(found, naming) : named(found, naming)
}

function named({ at, text }: Pick<FoundName, 'at' | 'text'>, { asked, sent, nameOf }: Naming): string {
  const name = text === asked ? sent : nameOf(text)
  if (name !== undefined) return name
  const param = shownName(pathText(at))
  const message = `The model \`${text.slice(0, 256)}\` of '${param}' does not exist, or you may not use it with this one.`
  throw new GatewayError('model_not_found', message, { param })
}

function repeated({ at, text }: Pick<FoundName, 'at' | 'text'>, { asked, sent }: Naming): string {
  const prefix = text.startsWith(COLLECTION) && !asked.startsWith(COLLECTION) ? COLLECTION : ''
  if (text.slice(prefix.length) === asked) return prefix + sent
  const param = shownName(pathText(at))
  throw new GatewayError('invalid_parameter', `'${param}' must be the model of the path, '${asked}'.`, { param })
}

/** Names of the client's parameters that do not pass. Throws `invalid_parameter` for those that must not occur. */
export function heldQuery(
  query: URLSearchParams | undefined,
  { openQuery }: RouteMembers,
  rules: MemberRules,
  { nameOf }: Naming,
  isOwn: (name: string, value: string) => boolean,
): ReadonlySet<string> {
  const held = new Set<string>()
  for (const [name, value] of query ?? []) {
    const action = actionOf(name, rules.query) ?? (openQuery ? 'pass' : 'drop')
    if (action === 'pass' || isOwn(name, value)) continue
    if (action === 'refuse') throw refusedMember(`?${name}`)
    if (action === 'model' && nameOf(value) === value) continue
    if (action !== 'drop') throw refusedMember(`?${name}`)
    held.add(name)
  }
  return held
}

/** As for members, every spelling of a declared name counts as that name; parameters that pass have exactly that name. */
function actionOf(name: string, query: MemberRules['query']): MemberAction | undefined {
  const exact = query.get(name)
  if (exact !== undefined) return exact
  const plain = memberName(name)
  for (const [declared, action] of query) if (action !== 'pass' && memberName(declared) === plain) return action
  return undefined
}

/**
 * Whether a query parameter is for the gateway itself: the callers' keys of any route, a signature, and the model, which the exchange
 * renames if the request names one.
 */
export function ownQuery(
  { model, framing, resumableUpload, modelHints, caller }: Route,
  isKey: (text: string) => boolean,
  namesModel: boolean,
  name: string,
  value: string,
): boolean {
  return (
    (model?.from === 'query' && model.name === name && namesModel) ||
    framing.parameter === name ||
    resumableUpload?.parameter === name ||
    modelHints.some(hint => hint.from === 'query' && hint.name === name) ||
    caller.some(placement => placement.in === 'query' && placement.name === name) ||
    isOfSignature(name) ||
    isKey(value)
  )
}
