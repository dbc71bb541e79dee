import type { Exchange } from '../core/plan.js'
import type { FormChanges } from '../core/transform.js'
import { apply, type Edit } from '../wire/json-splice.js'
import { ownQuery } from '../wire/member-names.js'
import type { Body, MemberChanges } from './body.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import { slot } from './slot.js'

// How a request is sent to each candidate: stages remove or rename members of the body and of the query.

/** The same for all exchanges with that model of that upstream, even with another call. */
export function placeOf({ upstream, model }: Exchange): string {
  return `${upstream.name} ${model}`
}

/** The request's changes for each exchange; absent if it has none. */
const CHANGES = slot<ReadonlyMap<string, MemberChanges>>('changes')

/** Sets the changes for each candidate, by {@link placeOf}. */
export function setChanges(call: Call, changes: ReadonlyMap<string, MemberChanges>): void {
  call.set(CHANGES, changes)
}

export function hasChanges(call: Call): boolean {
  return call.get(CHANGES) !== undefined
}

/** What is changed for an exchange. */
export function changesOf(call: Call, exchange: Exchange): MemberChanges | undefined {
  return call.get(CHANGES)?.get(placeOf(exchange))
}

/** Adds edits of a JSON body for an exchange, and the names of members that they remove. */
export function alsoChange(call: Call, exchange: Exchange, edits: readonly Edit[], dropped: readonly string[]): void {
  const known = changesOf(call, exchange) ?? { edits: [], fields: new Map(), query: new Set(), dropped: [] }
  const changes = { ...known, edits: [...known.edits, ...edits], dropped: [...known.dropped, ...dropped] }
  call.set(CHANGES, new Map([...(call.get(CHANGES) ?? []), [placeOf(exchange), changes]]))
}

/** The body for an exchange. Forms are changed while they are sent. */
export function changedBody<T extends Body>(call: Call, exchange: Exchange, body: T): T {
  const changes = changesOf(call, exchange)
  call.dropped = changes?.dropped ?? NOTHING
  if (changes === undefined || changes.edits.length === 0 || body.type !== 'bytes') return body
  return { ...body, bytes: apply(body.bytes, changes.edits), model: undefined, document: undefined }
}

/** Changes a form for an exchange. */
export function changeFields(call: Call, exchange: Exchange, form: FormChanges): void {
  for (const [name, text] of changesOf(call, exchange)?.fields ?? []) {
    if (text === undefined) form.remove([name])
    else form.set(name, text)
  }
}

const NOTHING: readonly string[] = []

/** Whether a query parameter is for the gateway itself. */
export function isOwnQuery(call: Call, name: string, value: string): boolean {
  const { route, namesModel } = call
  return route === undefined || ownQuery(route, text => isKey(call, text), namesModel, name, value)
}

/** Whether a text is a key for the gateway, which no upstream may get. */
export function isKey(call: Call, text: string): boolean {
  return chainOf(call).isKey.some(isOne => isOne(text))
}
