import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, Part, TextResult } from '../../core/text.js'
import { errorInside } from '../compatible-errors.js'
import { readLogprobs } from '../compatible-settings.js'
import { MadeIds } from '../made-ids.js'
import { arrayOf, badUpstream, given, isBounded, numberOf, objectOf, stringOf } from '../read.js'
import { PROTOCOL } from './fields.js'

import { reasoningOf } from './items-in.js'
import { onto, readAnnotation, sealOfItem } from './output.js'
import { readUsage } from './response-object.js'

/** Most items of an answer, and parts of one. */
export const MAX_ITEMS = 10_000

/** Reads a response object. A failed one is an error, and so is one that is not finished. */
export function decodeResult(body: Json): TextResult {
  const response = objectOf(body)
  if (response === undefined || (response.output === undefined && response.error === undefined)) {
    throw badUpstream('It is not a response object.')
  }
  refuseUnfinished(response)
  const id = stringOf(response.id) ?? ''
  const ids = new MadeIds(id)
  const parts: Part[] = []
  const items = arrayOf(response.output)
  if (items.length > MAX_ITEMS) throw badUpstream('It has too many items.')
  for (const [i, item] of items.entries()) {
    if (!isObject(item)) continue
    for (const part of partsOfItem(item, ids.of(0, i))) parts.push(part)
  }
  const usage = readUsage(response.usage)
  return {
    id,
    model: stringOf(response.model) ?? '',
    candidates: [{ parts, end: endOf(response, parts.some(isCall), parts.some(isRefusal)) }],
    ...given({ created: numberOf(response.created_at), usage, serviceTier: stringOf(response.service_tier) }),
  }
}

export function refuseUnfinished(response: JsonObject): void {
  if (response.status === 'failed' || isObject(response.error)) throw errorInside(response, 'content')
  if (response.status === 'cancelled') {
    throw new GatewayError('upstream_failed', 'The upstream cancelled the answer.', { phase: 'content' })
  }
  if (response.status === 'in_progress' || response.status === 'queued') {
    throw badUpstream(`Its response is not finished: its status is '${response.status}'.`)
  }
}

function isCall({ type }: Part): boolean {
  return type === 'call'
}

function isRefusal({ type }: Part): boolean {
  return type === 'refusal'
}

/** There is no finish reason here: a call says that the turn is the client's. */
export function endOf(response: JsonObject, called: boolean, refused: boolean): End {
  if (response.status === 'incomplete') {
    const why = stringOf(objectOf(response.incomplete_details)?.reason)
    if (why === 'content_filter') return { reason: 'filter', detail: why }
    return why === undefined || why === 'max_output_tokens' || why === 'max_tokens'
      ? { reason: 'length' }
      : { reason: 'other', detail: why }
  }
  if (called) return { reason: 'tool' }
  return { reason: refused ? 'refusal' : 'stop' }
}

/** Parts of one `output` item; `made` is the id of a call that has none. */
export function partsOfItem(item: JsonObject, made: string): Part[] {
  switch (item.type) {
    case 'message':
      return onto(
        arrayOf(item.content).flatMap(content => {
          if (!isObject(content)) return []
          return partOfContent(content) ?? []
        }),
        sealOfItem(item),
      )
    case 'function_call':
    case 'custom_tool_call':
      return onto([callOf(item, made)], sealOfItem(item))
    case 'reasoning': {
      // Without a summary, and not sealed, it says only that there was a thought.
      const thought = reasoningOf(item)
      return thought.text === '' && thought.seal === undefined ? [] : [thought]
    }
    case 'image_generation_call':
      return typeof item.result === 'string' && item.result !== ''
        ? [{ type: 'media', kind: 'image', mime: mimeOf(item), source: { base64: item.result } }]
        : [hosted(item)]
    default:
      return [hosted(item)]
  }
}

function hosted(item: JsonObject): Part {
  if (!isBounded(item)) throw badUpstream('An item is nested too deep.')
  return { type: 'hosted', of: PROTOCOL, value: item }
}

function mimeOf(item: JsonObject): string {
  return `image/${stringOf(item.output_format) ?? 'png'}`
}

export function partOfContent(content: JsonObject): Extract<Part, { readonly type: 'text' | 'refusal' }> | undefined {
  if (content.type === 'refusal') return { type: 'refusal', text: stringOf(content.refusal) ?? '' }
  const text = stringOf(content.text)
  if (text === undefined) return undefined
  const citations = arrayOf(content.annotations).flatMap(readAnnotation)
  const logprobs = readLogprobs(content.logprobs)
  return { type: 'text', text, ...(citations.length > 0 && { citations }), ...given({ logprobs }) }
}

export function callOf(item: JsonObject, made: string): Extract<Part, { readonly type: 'call' }> {
  const custom = item.type === 'custom_tool_call'
  const name = stringOf(item.name)
  if (name === undefined || name === '') throw badUpstream('A call has no name.')
  const text = stringOf(custom ? item.input : item.arguments) ?? ''
  const id = stringOf(item.call_id) || stringOf(item.id) || made
  return {
    type: 'call',
    id,
    name,
    arguments: text,
    ...given({ item: stringOf(item.id), custom: custom ? (true as const) : undefined }),
  }
}
