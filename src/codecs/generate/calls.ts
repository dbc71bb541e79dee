import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CallPart } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { MADE_UP } from '../made-ids.js'
import { parseObject, stringOf } from '../read.js'
import { clientName, wireName } from './names.js'

/** Members of a call's part as they are read of `functionCall`, where `args` is whole. */
export function callIn(id: string, wire: string, args: JsonObject): CallPart {
  const { name, custom } = clientName(wire)
  if (!custom) return { type: 'call', id, name, arguments: jsonText(args) }
  return { type: 'call', id, name, arguments: stringOf(args.input) ?? jsonText(args), custom: true }
}

/**
 * `functionCall`. Made-up ids are left out. Free text is in an object as `input`; arguments that are not objects stand
 * in one as `_raw`, because they cannot stand alone.
 */
export function callOut({ id, name, arguments: text, custom }: CallPart): JsonObject {
  const args = custom === true ? { input: text } : argumentsOf(text)
  const call: Record<string, Json> = { name: wireName(name, custom), args }
  if (!id.startsWith(MADE_UP) && id !== '') call.id = id
  return call
}

function argumentsOf(text: string): JsonObject {
  const args = parseObject(text)
  return args !== undefined && isBounded(args) ? args : { _raw: text }
}
