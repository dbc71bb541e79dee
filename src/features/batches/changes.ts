import { GatewayError } from '../../core/errors.js'
import { type DocumentPath, pathText } from '../../core/path-text.js'
import type { Exchange, Route } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import { shownName } from '../../core/shown-name.js'
import type { Call } from '../../kernel/call.js'
import { findMembers } from '../../wire/find-members.js'
import { apply, type Edit } from '../../wire/json-splice.js'
import { checkFound, nameThere, WHY_DROPPED } from '../../wire/member-names.js'
import { namingOf } from '../members/index.js'
import type { BatchRequest } from './requests.js'

interface RequestChanges {
  /** Edits of the batch. */
  readonly edits: readonly Edit[]
  /** Removed members, as paths inside the request. */
  readonly dropped: readonly string[]
}

/**
 * The changes of one request of a batch for an upstream, the same as if it were sent by itself: its names of models, no member
 * that the rules forbid, and what is declared for the model. Throws if the request may not pass.
 */
export function changesOfRequest(
  call: Call,
  inner: Route,
  exchange: Exchange,
  bytes: Buffer,
  { start, end, at, model, name }: BatchRequest,
): RequestChanges {
  const { rules } = inner.members.of(exchange.upstream.name)
  const own = bytes.subarray(start, end)
  const found = findMembers(own, rules)
  const inBatch = (path: DocumentPath): DocumentPath => [...at, ...path]
  checkFound({ names: found.names, refused: found.refused.map(inBatch) })
  const dropped = found.dropped.map(path => shownName(pathText([...at.filter(isName), ...path])))
  if (call.caller?.strict === true && dropped[0] !== undefined) throw untranslatable(dropped[0], WHY_DROPPED)
  const edits: Edit[] = [...found.removals]
  const naming = namingOf(call, exchange, model)
  for (const one of found.names) {
    const there = nameThere({ ...one, at: inBatch(one.at) }, naming)
    if (there !== one.text) edits.push({ start: one.start, end: one.end, bytes: quoted(there) })
  }
  if (exchange.model !== model) {
    edits.push({ start: name.start - start, end: name.end - start, bytes: quoted(exchange.model) })
  }
  if (exchange.request === undefined) {
    return { edits: edits.map(edit => ({ ...edit, start: edit.start + start, end: edit.end + start })), dropped }
  }
  return { edits: [{ start, end, bytes: transformed(exchange.request, apply(own, edits), at) }], dropped }
}

function isName(segment: string | number): segment is string {
  return typeof segment === 'string'
}

function quoted(name: string): Buffer {
  return Buffer.from(JSON.stringify(name))
}

function transformed(transform: NonNullable<Exchange['request']>, bytes: Buffer, at: DocumentPath): Uint8Array {
  try {
    return transform(bytes)
  } catch (cause) {
    const param = pathText(at)
    throw new GatewayError('bad_request', `'${param}' does not have the format that its model needs.`, { cause, param })
  }
}
