import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Part, TextResult } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { MadeIds } from '../made-ids.js'
import { badUpstream, objectOf, parseObject, stringOf } from '../read.js'
import { unwrapSeal } from '../seal.js'
import { decodeCallId } from './call-ids.js'
import { decodeCitations } from './citations.js'
import { decodeEnd } from './ends.js'
import { errorOf } from './errors.js'
import { decodeToolName } from './tool-names.js'
import { decodeUsage, decodeUsedTier } from './usage.js'

/** A whole message. Throws `bad_upstream_response`; an error with status 200 as that error. */
export function decodeResult(body: Json): TextResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.type === 'error' || isObject(body.error)) throw errorOf(body)
  const { content } = body
  if (!Array.isArray(content)) throw badUpstream('It has no content.')
  const id = stringOf(body.id) ?? ''
  const ids = new MadeIds(id)
  const parts = (content as readonly Json[]).map((block, i) => {
    if (!isObject(block)) throw badUpstream('A block of its content is not an object.')
    return decodeBlock(block, ids.of(0, i))
  })
  const usage = objectOf(body.usage)
  const counted = decodeUsage(usage)
  const tier = decodeUsedTier(stringOf(usage?.service_tier))
  return {
    id,
    model: stringOf(body.model) ?? '',
    candidates: [{ parts: parts.filter(part => part !== undefined), end: decodeEnd(stringOf(body.stop_reason), body) }],
    ...(counted !== undefined && { usage: counted }),
    ...(tier !== undefined && { serviceTier: tier }),
  }
}

/** A block of an answer as a part; undefined for thoughts that say nothing. `id` is for a call that has none. */
export function decodeBlock(block: JsonObject, id: string): Part | undefined {
  switch (block.type) {
    case 'text':
      return decodeText(block)
    case 'thinking': {
      const text = stringOf(block.thinking) ?? ''
      const signature = stringOf(block.signature) ?? ''
      if (text === '' && signature === '') return undefined
      return { type: 'reasoning', text, ...(signature !== '' && { seal: unwrapSeal(signature, 'messages') }) }
    }
    case 'redacted_thinking': {
      const seal = unwrapSeal(stringOf(block.data) ?? '', 'messages')
      return { type: 'reasoning', text: '', redacted: true, seal }
    }
    case 'tool_use':
      return decodeCall(block, id)
    default:
      if (!isBounded(block)) throw badUpstream('A block is nested too deeply.')
      return { type: 'hosted', of: 'messages', value: block }
  }
}

function decodeText(block: JsonObject): Part {
  const citations = decodeCitations(block.citations)
  return {
    type: 'text',
    text: stringOf(block.text) ?? '',
    ...(citations.length > 0 && { citations }),
  }
}

function decodeCall(block: JsonObject, made: string): Part {
  const { name, custom } = decodeToolName(stringOf(block.name) ?? '')
  const input = objectOf(block.input) ?? parseObject(stringOf(block.input) ?? '') ?? {}
  if (!isBounded(input)) throw badUpstream('The input of a call is nested too deeply.')
  const given = decodeCallId(stringOf(block.id) ?? '')
  const id = given === '' ? made : given
  if (!custom) return { type: 'call', id, name, arguments: jsonText(input) }
  return { type: 'call', id, name, arguments: customInput(input), custom: true }
}

/** The free text of a tool that was given to the service as a function of one string. */
export function customInput(input: JsonObject): string {
  return stringOf(input.input) ?? jsonText(input)
}
