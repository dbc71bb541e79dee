import type { RequestHead } from '../../core/codec.js'
import { readExact } from '../../core/exact-json.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { Format, Left, ReasoningWish, TextPart, TextRequest, Turn } from '../../core/text.js'
import { isEffort } from '../effort.js'
import { given, invalid, isBounded, Reader, UNKNOWN } from '../read.js'
import { BlocksIn } from './blocks-in.js'
import { CONVERSE_FIELDS } from './fields.js'
import { decodeCachePoint } from './media-in.js'
import { readTools } from './tools-in.js'

/** Reads a request of `POST /model/{id}/converse` and `…/converse-stream`. Throws `invalid_parameter`. */
export function decodeRequest(document: JsonObject, head: RequestHead): TextRequest {
  const body = new Reader(document)
  const left: Left[] = []
  const request: TextRequest = {
    model: head.model,
    stream: head.stream,
    streamUsage: true,
    system: readSystem(body.objects('system') ?? [], left),
    turns: readTurns(body, left),
    ...readTools(body.object('toolConfig'), left),
    ...readInference(body.object('inferenceConfig')),
    ...readOutput(body, left),
    ...given({ metadata: readMetadata(body.object('requestMetadata')), serviceTier: tierOf(body) }),
    left,
  }
  leave(body, left)
  return request
}

function readSystem(blocks: readonly Reader[], left: Left[]): readonly TextPart[] {
  const parts: TextPart[] = []
  for (const block of blocks) {
    const point = block.object('cachePoint')
    const last = parts.at(-1)
    if (block.has('text')) parts.push({ type: 'text', text: block.required('text'), at: block.at })
    else if (point !== undefined && last !== undefined)
      parts[parts.length - 1] = { ...last, cache: decodeCachePoint(point) }
    else left.push({ field: block.at, why: 'instructions are text in other protocols' })
  }
  return parts
}

function readTurns(body: Reader, left: Left[]): readonly Turn[] {
  const messages = body.objects('messages')
  if (messages === undefined) throw invalid('messages', 'it is required')
  return messages.map((message): Turn => {
    const role = message.required('role')
    const blocks = message.objects('content') ?? []
    if (role === 'system') return { role, parts: readSystem(blocks, left), at: message.at }
    if (role !== 'user' && role !== 'assistant') {
      throw invalid(message.path('role'), 'expected user, assistant or system')
    }
    return { role, parts: new BlocksIn(left).read(blocks), at: message.at }
  })
}

function readInference(config: Reader | undefined): Pick<TextRequest, 'maxTokens' | 'temperature' | 'topP' | 'stop'> {
  const stop = config?.strings('stopSequences')
  return given({
    maxTokens: config?.number('maxTokens'),
    temperature: config?.number('temperature'),
    topP: config?.number('topP'),
    stop: stop === undefined || stop.length === 0 ? undefined : stop,
  })
}

/** Members of `additionalModelRequestFields` that other protocols have, too. */
const KNOWN_EXTRAS: ReadonlySet<string> = new Set(['thinking', 'top_k'])

/** `outputConfig`, and of the members for one model those that say how much to think. */
function readOutput(body: Reader, left: Left[]): Pick<TextRequest, 'format' | 'reasoning' | 'topK'> {
  const extra = body.object('additionalModelRequestFields')
  for (const name of Object.keys(extra?.value ?? {})) {
    if (extra !== undefined && !KNOWN_EXTRAS.has(name)) {
      left.push({ field: extra.path(name), why: 'only the model that it is for knows it' })
    }
  }
  const config = body.object('outputConfig')
  const effort = config?.string('effort')
  if (effort !== undefined && !isEffort(effort)) left.push({ field: 'outputConfig.effort', why: 'it is not known' })
  const wish: ReasoningWish = {
    ...readThinking(extra?.object('thinking'), left),
    ...(isEffort(effort) && { effort }),
  }
  const isOff = wish.effort === 'none'
  const format = config?.object('textFormat')
  return given({
    topK: extra?.number('top_k'),
    format: format === undefined ? undefined : readFormat(format),
    // Clients of this protocol send thoughts back with their signatures.
    reasoning: Object.keys(wish).length === 0 ? undefined : isOff ? wish : { ...wish, sealed: true },
  })
}

function readThinking(thinking: Reader | undefined, left: Left[]): ReasoningWish {
  const type = thinking?.string('type')
  if (thinking === undefined || type === undefined) return {}
  const display = thinking.string('display')
  const shown = given({
    show: display === 'omitted' ? ('none' as const) : display && ('auto' as const),
  }) as ReasoningWish
  if (type === 'disabled') return { effort: 'none' }
  if (type === 'adaptive') return { adaptive: true, ...shown }
  const budget = thinking.number('budget_tokens')
  if (type === 'enabled' && budget !== undefined) return { budget, ...shown }
  left.push({ field: thinking.at, why: 'only the model that it is for knows it' })
  return {}
}

/** `{type: "json_schema", structure: {jsonSchema: {schema, name, description}}}`, where the schema is JSON as a text. */
function readFormat(format: Reader): Format {
  const holder = format.object('structure')?.object('jsonSchema')
  if (holder === undefined) throw invalid(format.path('structure'), 'expected jsonSchema')
  const schema = readExact(holder.required('schema'))
  if (!isObject(schema)) throw invalid(holder.path('schema'), 'expected the text of a JSON object')
  if (!isBounded(schema)) throw invalid(holder.path('schema'), 'it is nested too deeply')
  return {
    type: 'schema',
    schema,
    ...given({ name: holder.string('name'), description: holder.string('description') }),
  }
}

function readMetadata(metadata: Reader | undefined): Readonly<Record<string, string>> | undefined {
  if (metadata === undefined) return undefined
  const names = Object.keys(metadata.value)
  return names.length === 0 ? undefined : Object.fromEntries(names.map(name => [name, metadata.string(name) ?? '']))
}

function tierOf(body: Reader): string | undefined {
  return body.object('serviceTier')?.string('type')
}

/** Members that are held by nothing: those that the table says so of, and those that no one knows. */
function leave(body: Reader, left: Left[]): void {
  for (const name of Object.keys(body.value)) {
    if (!body.has(name)) continue
    const held = Object.hasOwn(CONVERSE_FIELDS, name) ? CONVERSE_FIELDS[name] : { left: UNKNOWN }
    if (typeof held === 'object' && 'left' in held) left.push({ field: name, why: held.left })
  }
}
