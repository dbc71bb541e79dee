import { jsonText } from '../../core/exact-json.js'
import { messageRules } from '../../core/members.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import { findInMessage } from '../../wire/find-members.js'
import { apply } from '../../wire/json-splice.js'
import { CLIENT_SECRET } from '../client-secrets/client-secrets.js'
import { modelCheck } from './model-check.js'

/**
 * The first message of a session, as the client secret that opened it demands, with the upstream's names of models.
 * Undefined if it demands nothing; null if it names a model that this upstream no longer has.
 */
export function openingMessage(call: Call, route: Route, exchange: Exchange): string | null | undefined {
  const session = call.get(CLIENT_SECRET)?.session ?? undefined
  if (session === undefined) return undefined
  const message = Buffer.from(jsonText({ type: 'session.update', session }))
  const check = modelCheck(call, exchange)
  const { names } = findInMessage(message, messageRules(route.members.of(exchange.upstream.name)))
  const known = names.map(({ text }) => check(text))
  if (known.includes(undefined)) return null
  const edits = names.map(({ start, end }, index) => ({ start, end, bytes: Buffer.from(JSON.stringify(known[index])) }))
  return apply(message, edits).toString('utf8')
}
