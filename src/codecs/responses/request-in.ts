import type { RequestHead } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { Format, Left, ReasoningWish, TextPart, TextRequest, Turn } from '../../core/text.js'
import { readSchemaFormat, readSettings, readVerbosity, readWord } from '../compatible-settings.js'
import { isEffort } from '../effort.js'
import { given, leaveOthers, Reader, UNKNOWN } from '../read.js'

import { PROTOCOL, RESPONSES_FIELDS } from './fields.js'
import { onlyText, readInput } from './items-in.js'
import { Namespaces, readToolChoice, readTools } from './tools-in.js'

/** Reads a request (`CreateResponse` of the reference). Throws `invalid_parameter`. */
export function decodeRequest(value: JsonObject, head: RequestHead): TextRequest {
  const body = new Reader(value)
  const left: Left[] = []
  const names = new Namespaces(body.objects('tools') ?? [])
  const tools = readTools(body, left, names)
  const { system, turns } = readInput(body, left, names)
  const instructions = readInstructions(body, left, names)
  const text = body.object('text')
  return {
    model: head.model,
    stream: head.stream,
    streamUsage: true,
    system: [...instructions, ...system],
    turns: [...readKept(body), ...turns],
    tools,
    ...readSettings(body),
    ...given({
      toolChoice: readToolChoice(body, names),
      parallelTools: body.boolean('parallel_tool_calls'),
      maxTokens: body.number('max_output_tokens'),
      temperature: body.number('temperature'),
      topP: body.number('top_p'),
      logprobs: readLogprobs(body),
      format: readFormat(text, left),
      verbosity: text === undefined ? undefined : readVerbosity(text, left),
      reasoning: readReasoning(body, left),
    }),
    left: [...left, ...leftOf(body)],
  }
}

/** A text, or items with the roles of instructions. */
function readInstructions(body: Reader, left: Left[], names: Namespaces): readonly TextPart[] {
  const instructions = body.raw('instructions')
  if (instructions === undefined) return []
  if (typeof instructions === 'string') return [{ type: 'text', text: instructions, at: 'instructions' }]
  const read = readInput(body, left, names, 'instructions')
  return [...read.system, ...read.turns.flatMap(turn => turn.parts).map(onlyText)]
}

/** Members that name a part of the prompt which is at one upstream of this protocol, and why no other can have it. */
const KEPT = {
  prompt: 'a stored prompt is known only to the upstream that keeps it, and the request goes to another one',
} as const

/** Nothing can be answered without that part, so it is refused elsewhere, as any file of another upstream is. */
function readKept(body: Reader): Turn[] {
  return Object.entries(KEPT).flatMap(([at, why]): Turn[] => {
    const value = body.raw(at)
    if (value === undefined) return []
    const file = typeof value === 'string' ? value : (body.object(at)?.string('id') ?? '')
    return [{ role: 'user', at, parts: [{ type: 'media', kind: 'document', source: { file, of: PROTOCOL, why }, at }] }]
  })
}

function readLogprobs(body: Reader): number | undefined {
  const top = body.number('top_logprobs')
  const included = includes(body, 'message.output_text.logprobs')
  return included || (top !== undefined && top > 0) ? (top ?? 0) : undefined
}

function includes(body: Reader, what: string): boolean {
  return body.array('include')?.includes(what) === true
}

function readFormat(text: Reader | undefined, left: Left[]): Format | undefined {
  const format = text?.object('format')
  const type = format?.string('type')
  if (format === undefined || type === 'text' || type === undefined) return undefined
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') {
    left.push({ field: format.path('type'), why: 'unknown answer format' })
    return undefined
  }
  return readSchemaFormat(format)
}

const SUMMARIES = ['auto', 'concise', 'detailed'] as const

function readReasoning(body: Reader, left: Left[]): ReasoningWish | undefined {
  const reasoning = body.object('reasoning')
  const said = reasoning?.raw('effort')
  if (said !== undefined && !isEffort(said)) left.push({ field: 'reasoning.effort', why: 'unknown effort' })
  const summary = reasoning?.has('summary') === true ? 'summary' : 'generate_summary'
  for (const name of ['mode', 'context']) {
    if (reasoning?.has(name) === true)
      left.push({ field: `reasoning.${name}`, why: 'other protocols have no such thing' })
  }
  const wish = given({
    effort: isEffort(said) ? said : undefined,
    show: reasoning === undefined ? undefined : readWord(reasoning, summary, SUMMARIES, left),
    sealed: includes(body, 'reasoning.encrypted_content') ? true : undefined,
  })
  return Object.keys(wish).length === 0 ? undefined : wish
}

/** Members of members that are read here, or named by their readers. */
const INNER: readonly (readonly [string, ReadonlySet<string>])[] = [
  ['stream_options', new Set(['include_obfuscation'])],
  ['text', new Set(['format', 'verbosity'])],
  ['text.format', new Set(['type', 'name', 'description', 'schema', 'strict'])],
  ['reasoning', new Set(['effort', 'summary', 'generate_summary', 'mode', 'context'])],
]

const INCLUDED = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

function leftOf(body: Reader): Left[] {
  const left: Left[] = []
  for (const field of Object.keys(body.value)) {
    if (!body.has(field)) continue
    const held = Object.hasOwn(RESPONSES_FIELDS, field) ? RESPONSES_FIELDS[field] : undefined
    if (held === undefined) left.push({ field, why: UNKNOWN })
    else if (typeof held === 'object' && 'left' in held && !isDefault(field, body)) left.push({ field, why: held.left })
  }
  for (const what of body.array('include') ?? []) {
    if (typeof what === 'string' && !INCLUDED.has(what)) {
      left.push({ field: `include:${what}`, why: 'it belongs to a tool that runs at upstreams of this protocol' })
    }
  }
  if (body.object('stream_options')?.boolean('include_obfuscation') === true) {
    left.push({ field: 'stream_options.include_obfuscation', why: 'translated streams are never padded' })
  }
  for (const [path, members] of INNER) {
    const [outer = '', inner] = path.split('.')
    const member = inner === undefined ? body.object(outer) : body.object(outer)?.object(inner)
    if (member !== undefined) leaveOthers(member, members, left)
  }
  return left
}

/** Said, but only what holds unsaid: clients that repeat defaults lose nothing. */
function isDefault(field: string, body: Reader): boolean {
  return field === 'truncation' && body.raw(field) === 'disabled'
}
