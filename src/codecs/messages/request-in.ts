import type { RequestHead } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { Format, Left, Part, ReasoningWish, TextPart, TextRequest, Turn } from '../../core/text.js'
import { isEffort } from '../effort.js'
import { invalid, isBounded, Reader } from '../read.js'

import { BlocksIn, cacheOf, readSystem } from './blocks-in.js'
import { MESSAGES_FIELDS } from './fields.js'
import { readToolChoice, readTools } from './tools-in.js'

/** `thinking` and `output_config`: how much to think, what of it to show, and the form of the answer. */
function readReasoning(body: Reader, left: Left[]): Pick<TextRequest, 'reasoning' | 'format'> {
  const config = body.object('output_config')
  const wish = { ...readThinking(body.object('thinking'), left), ...readEffort(config, left) }
  const off = body.object('thinking')?.string('type') === 'disabled'
  if (off && wish.effort !== 'none') {
    left.push({
      field: 'output_config.effort',
      why: 'in other protocols the effort is that of thinking, which is off',
    })
  }
  if (config?.has('task_budget')) left.push({ field: 'output_config.task_budget', why: 'only this protocol has it' })
  const format = config?.object('format') ?? body.object('output_format')
  // Clients of this protocol send signed thoughts back, and need them signed for that.
  const reasoning: ReasoningWish = off ? { effort: 'none' } : { ...wish, sealed: true }
  return {
    ...(Object.keys(wish).length > 0 && { reasoning }),
    ...(format !== undefined && { format: readFormat(format) }),
  }
}

function readThinking(thinking: Reader | undefined, left: Left[]): ReasoningWish {
  if (thinking === undefined) return {}
  if (thinking.has('block_binding')) {
    left.push({ field: thinking.path('block_binding'), why: 'only this protocol has it' })
  }
  const display = thinking.string('display')
  const type = thinking.required('type')
  const shown: ReasoningWish =
    display === 'omitted' ? { show: 'none' } : display === 'summarized' ? { show: 'auto' } : {}
  switch (type) {
    case 'enabled': {
      const budget = thinking.number('budget_tokens')
      if (budget === undefined) throw invalid(thinking.path('budget_tokens'), 'it is required')
      return { budget, ...shown }
    }
    case 'adaptive':
      return { adaptive: true, ...shown }
    case 'disabled':
      return { effort: 'none' }
    case 'between_tools':
      left.push({
        field: thinking.path('type'),
        why: 'other protocols cannot restrict thinking to between calls',
      })
      return { effort: 'minimal', ...shown }
    default:
      left.push({ field: thinking.path('type'), why: 'it is not known' })
      return {}
  }
}

function readEffort(config: Reader | undefined, left: Left[]): ReasoningWish {
  const effort = config?.string('effort')
  if (effort === undefined) return {}
  if (isEffort(effort)) return { effort }
  left.push({ field: 'output_config.effort', why: 'it is not known' })
  return {}
}

/** `{type: "json_schema", schema}`. */
function readFormat(format: Reader): Format {
  if (format.required('type') !== 'json_schema') throw invalid(format.path('type'), 'expected json_schema')
  const schema = format.object('schema')?.value
  if (schema === undefined) throw invalid(format.path('schema'), 'it is required')
  if (!isBounded(schema)) throw invalid(format.path('schema'), 'it is nested too deeply')
  return { type: 'schema', schema }
}

/** Reads a request as clients send it (`CreateMessageParams` of the reference). Throws `invalid_parameter`. */
export function decodeRequest(document: JsonObject, head: RequestHead): TextRequest {
  const body = new Reader(document)
  const left: Left[] = []
  const system = readSystem(body.raw('system'), 'system', left)
  const turns = readTurns(body, left)
  const marked = cacheOf(body).cache === undefined ? { system, turns } : markLast(system, turns, cacheOf(body))
  const request: TextRequest = {
    model: head.model,
    stream: head.stream,
    streamUsage: true,
    ...marked,
    tools: readTools(body, left),
    ...readToolChoice(body),
    ...readSettings(body),
    ...readReasoning(body, left),
    left,
  }
  leave(body, left)
  return request
}

function readTurns(body: Reader, left: Left[]): Turn[] {
  const messages = body.objects('messages')
  if (messages === undefined) throw invalid('messages', 'it is required')
  return messages.map(message => {
    const role = message.required('role')
    const at = message.path('content')
    if (role === 'system') {
      return { role, parts: readSystem(message.raw('content') ?? '', at, left), at: message.at }
    }
    if (role !== 'user' && role !== 'assistant') throw invalid(message.path('role'), 'expected user or assistant')
    return { role, parts: new BlocksIn(left).read(message.raw('content'), at), at: message.at }
  })
}

/** `cache_control` of the whole request: a mark on its last part that can have one. */
function markLast(
  system: readonly TextPart[],
  turns: readonly Turn[],
  mark: Pick<Part, 'cache'>,
): { readonly system: readonly TextPart[]; readonly turns: readonly Turn[] } {
  const at = turns.findLastIndex(({ parts }) => parts.some(takesMark))
  const turn = turns[at]
  if (turn === undefined)
    return { system: system.map((part, i) => (i === system.length - 1 ? { ...mark, ...part } : part)), turns }
  const last = turn.parts.findLastIndex(takesMark)
  const parts = turn.parts.map((part, i) => (i === last ? { ...mark, ...part } : part))
  return { system, turns: turns.with(at, { ...turn, parts }) }
}

function takesMark({ type }: Part): boolean {
  return type !== 'reasoning' && type !== 'hosted'
}

type Settings = 'maxTokens' | 'temperature' | 'topP' | 'topK' | 'stop' | 'user' | 'serviceTier'

function readSettings(body: Reader): Pick<TextRequest, Settings> {
  const maxTokens = body.number('max_tokens')
  const temperature = body.number('temperature')
  const topP = body.number('top_p')
  const topK = body.number('top_k')
  const stop = body.strings('stop_sequences')
  const user = body.object('metadata')?.string('user_id')
  const tier = body.string('service_tier')
  return {
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(stop !== undefined && stop.length > 0 && { stop }),
    ...(user !== undefined && { user }),
    // In the words of the compatible protocols: without what is paid for beforehand.
    ...(tier !== undefined && { serviceTier: tier === 'standard_only' ? 'default' : tier }),
  }
}

/** Members that are held by nothing: those that the table says so of, and those that no one knows. */
function leave(body: Reader, left: Left[]): void {
  for (const name of Object.keys(body.value)) {
    if (!body.has(name)) continue
    const held = Object.hasOwn(MESSAGES_FIELDS, name) ? MESSAGES_FIELDS[name] : { left: 'it is not known' }
    if (typeof held === 'object' && 'left' in held) left.push({ field: name, why: held.left })
  }
  const metadata = body.object('metadata')?.value ?? {}
  for (const name of Object.keys(metadata)) {
    if (name !== 'user_id') left.push({ field: `metadata.${name}`, why: 'it is not known' })
  }
}
