import { GatewayError } from '../../core/errors.js'
import { parseJson } from '../../core/json.js'
import type { TaskRoute } from '../../core/plan.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { findValue, splice } from '../../wire/json-edit.js'
import { memberOf } from './members.js'
import type { Presenter } from './presenters/presenter.js'
import type { TaskEntry } from './repository.js'
import { TASKS } from './tasks.js'

/**
 * The task that the new one continues; undefined if the request names none and needs none. Throws if the caller has no
 * such task, or may no longer use its model.
 */
export async function parentOf(
  call: Call,
  { kind, parameter, member }: TaskRoute,
  presenter: Presenter,
): Promise<TaskEntry | undefined> {
  const id = parameter === undefined ? idIn(call, member) : (call.params[parameter] ?? '')
  if (id === undefined) return undefined
  const entry = await call.kernel.need(TASKS).repository.find(kind.name, call.key, id)
  if (entry === undefined || call.caller?.may(entry.task.model) !== true) throw presenter.unknown(id)
  const unfit = presenter.unfit(entry.task)
  if (unfit !== undefined) throw unfit
  call.model = entry.task.model
  return entry
}

/** The id in the body: a value, or its first word. Undefined if it is absent and the route knows the model without it. */
function idIn(call: Call, member: string | undefined): string | undefined {
  const value = member === undefined ? undefined : memberOf(call, member)
  if (typeof value === 'string' && value !== '') return firstWord(value)
  if (member === undefined || call.route?.model !== undefined) return undefined
  throw new GatewayError('invalid_parameter', `Missing required parameter: '${member}'.`, { param: member })
}

function firstWord(text: string): string {
  return text.slice(0, text.search(/\s|$/))
}

/** The body with the upstream's id instead of the gateway's; every other byte is unchanged. */
export function withId(body: Body, member: string, id: string): Body {
  if (body.type !== 'bytes') return body
  const span = findValue(body.bytes, [member])
  if (span === undefined) return body
  const text = parseJson(body.bytes.subarray(span.start, span.end).toString('utf8'))
  const value = typeof text === 'string' ? id + text.slice(firstWord(text).length) : id
  return {
    ...body,
    bytes: Buffer.from(splice(body.bytes, span.start, span.end, Buffer.from(JSON.stringify(value)))),
    model: undefined,
  }
}
