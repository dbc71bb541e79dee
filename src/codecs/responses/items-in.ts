import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { CallPart, Left, Part, ReasoningPart, ResultPart, Seal, TextPart, Turn } from '../../core/text.js'
import { arrayOf, given, invalid, leaveOthers, type Reader, stringOf } from '../read.js'

import { unwrapThought } from '../seal.js'
import { PROTOCOL } from './fields.js'
import { readMedia } from './media.js'
import { type CarrierPlace, carrierPlace, isSealable, onto, readAnnotation, sealOfItem } from './output.js'
import type { Namespaces } from './tools-in.js'

interface Gathering extends Turn {
  readonly parts: Part[]
}

/**
 * Makes turns of items: adjacent ones of the assistant are one (a thought, its text and its calls), and so
 * are results that do. The seals of carrier items go onto the texts and calls next to them.
 */
class GatheredTurns {
  readonly turns: Gathering[] = []
  /** Whether the last turn is made of results. */
  #hasResults = false
  #ahead: Seal | undefined
  /** The text or call onto which a seal behind it goes. */
  #sealable: { readonly parts: Part[]; readonly index: number } | undefined

  carry(item: JsonObject, place: CarrierPlace): void {
    const seal = sealOfItem(item)
    if (place === 'ahead') this.#ahead = seal
    else if (seal !== undefined && this.#sealable !== undefined) {
      const { parts, index } = this.#sealable
      const part = parts[index]
      if (part !== undefined) parts[index] = { ...part, seal }
    }
  }

  add(item: Turn): void {
    if (item.parts.length === 0) return
    const isResults = item.parts.every(({ type }) => type === 'result')
    const last = this.turns.at(-1)
    const goesOn = last?.role === item.role && (item.role === 'assistant' || (isResults && this.#hasResults))
    const turn: Gathering = last !== undefined && goesOn ? last : { ...item, parts: [] }
    if (turn !== last) this.turns.push(turn)
    this.#hasResults = isResults
    for (const part of item.parts) this.part(turn, part)
    if (item.role === 'assistant') this.#ahead = undefined
  }

  private part({ role, parts }: Gathering, part: Part): void {
    if (role !== 'assistant' || !isSealable(part)) {
      parts.push(part)
      return
    }
    this.#sealable = { parts, index: parts.length }
    parts.push(this.#ahead === undefined ? part : { ...part, seal: this.#ahead })
    this.#ahead = undefined
  }
}

/** A conversation as `input` has it: instructions before the first turn, and turns. */
interface Conversation {
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
}

/** `input`, or another member of its form: a text, or items of any type. Throws `invalid_parameter`. */
export function readInput(body: Reader, left: Left[], names: Namespaces, member = 'input'): Conversation {
  const input = body.raw(member)
  if (typeof input === 'string') {
    return { system: [], turns: [{ role: 'user', parts: [{ type: 'text', text: input, at: member }], at: member }] }
  }
  const gathered = new GatheredTurns()
  for (const item of body.objects(member) ?? []) {
    const place = item.value.type === 'reasoning' ? carrierPlace(item.value) : undefined
    if (place === undefined) gathered.add(readItem(item, left, names))
    else gathered.carry(item.value, place)
  }
  const { turns } = gathered
  const first = turns.findIndex(({ role }) => role !== 'system')
  const leading = turns.slice(0, first < 0 ? turns.length : first)
  return {
    system: leading.flatMap(({ parts }) => parts.filter((part): part is TextPart => part.type === 'text')),
    turns: turns.slice(leading.length),
  }
}

const MESSAGE_MEMBERS = new Set(['type', 'role', 'content', 'id', 'status', 'phase', 'encrypted_content'])
const REASONING_MEMBERS = new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content', 'redacted'])
const CALL_MEMBERS = new Set([
  ...['type', 'id', 'status', 'call_id', 'name', 'namespace', 'arguments', 'input', 'encrypted_content'],
])
const RESULT_MEMBERS = new Set(['type', 'id', 'status', 'call_id', 'name', 'namespace', 'output'])
const PART_MEMBERS = new Set([
  ...['type', 'text', 'annotations', 'logprobs', 'refusal', 'image_url', 'detail', 'file_id', 'file_data', 'file_url'],
  ...['filename', 'input_audio', 'data', 'format', 'video_url', 'prompt_cache_breakpoint'],
])
const WHY = {
  caller: 'other protocols do not say who calls a function',
}

function readItem(item: Reader, left: Left[], names: Namespaces): Turn {
  const type = typeOf(item)
  const { at } = item
  switch (type) {
    case 'message':
      return readMessage(item, left)
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', at, parts: onto([readCall(item, type, left, names)], sealOfItem(item.value)) }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', at, parts: [readResult(item, type, left, names)] }
    case 'reasoning':
      leaveOthers(item, REASONING_MEMBERS, left)
      return { role: 'assistant', at, parts: [reasoningOf(item.value, at)] }
    case 'item_reference':
      throw invalid(item.path('id'), 'the item is unknown, or not kept for this caller')
    default:
      return { role: sideOf(type), at, parts: [{ type: 'hosted', of: PROTOCOL, value: item.value, at }] }
  }
}

/** Messages and references may leave their type out. */
function typeOf(item: Reader): string {
  return item.string('type') ?? (item.has('id') && !item.has('role') ? 'item_reference' : 'message')
}

/** What a tool at the upstream answered, or what a person decided, comes from the client's side. */
function sideOf(type: string): 'user' | 'assistant' {
  return type.endsWith('_output') || type.endsWith('_response') ? 'user' : 'assistant'
}

function readMessage(item: Reader, left: Left[]): Turn {
  leaveOthers(item, MESSAGE_MEMBERS, left)
  const role = item.required('role')
  const { at } = item
  const content = item.raw('content')
  const path = item.path('content')
  if (content === undefined) throw invalid(path, 'it is required')
  const parts =
    typeof content === 'string'
      ? [{ type: 'text' as const, text: content, at: path }]
      : (item.objects('content') ?? []).map(part => readPart(part, left))
  switch (role) {
    case 'user':
      return { role, parts, at }
    case 'system':
    case 'developer':
      return { role: 'system', parts: parts.map(onlyText), at }
    case 'assistant':
      return { role, parts: onto(parts, sealOfItem(item.value)), at }
    default:
      throw invalid(item.path('role'), 'expected user, assistant, system or developer')
  }
}

export function onlyText(part: Part): TextPart {
  if (part.type === 'text') return part
  throw invalid(part.at ?? 'input', 'instructions can only be text')
}

function readPart(part: Reader, left: Left[]): Part {
  leaveOthers(part, PART_MEMBERS, left)
  const read = readKind(part, left)
  return isObject(part.raw('prompt_cache_breakpoint')) ? { ...read, cache: {} } : read
}

function readKind(part: Reader, left: Left[]): Part {
  const type = part.required('type')
  const { at } = part
  switch (type) {
    case 'input_text':
    case 'text':
      return { type: 'text', text: part.required('text'), at }
    case 'output_text': {
      const citations = arrayOf(part.raw('annotations')).flatMap(readAnnotation)
      return { type: 'text', text: part.required('text'), at, ...(citations.length > 0 && { citations }) }
    }
    case 'refusal':
      return { type: 'refusal', text: part.required('refusal'), at }
    case 'input_image':
    case 'input_file':
    case 'input_audio':
    case 'input_video':
      return readMedia(part, type, left)
    default:
      throw invalid(part.path('type'), `no part of a message has the type '${type.slice(0, 60)}'`)
  }
}

function readCall(item: Reader, type: 'function_call' | 'custom_tool_call', left: Left[], names: Namespaces): CallPart {
  leaveOthers(item, CALL_MEMBERS, left, WHY)
  const custom = type === 'custom_tool_call'
  return {
    type: 'call',
    id: item.required('call_id'),
    name: names.nameOf(item.value, item.required('name')),
    arguments: item.string(custom ? 'input' : 'arguments') ?? '',
    at: item.at,
    ...given({ item: item.string('id'), custom: custom ? (true as const) : undefined }),
  }
}

function readResult(item: Reader, type: string, left: Left[], names: Namespaces): ResultPart {
  leaveOthers(item, RESULT_MEMBERS, left, WHY)
  const output = item.raw('output')
  const name = item.string('name')
  const at = item.path('output')
  const parts: (TextPart | ReturnType<typeof readMedia>)[] = []
  if (typeof output === 'string') parts.push({ type: 'text', text: output, at })
  else {
    for (const part of item.objects('output') ?? []) {
      const read = readPart(part, left)
      if (read.type !== 'text' && read.type !== 'media') throw invalid(part.at, 'a result is text, images and files')
      parts.push(read)
    }
  }
  return {
    type: 'result',
    id: item.required('call_id'),
    parts,
    at: item.at,
    ...given({
      name: name === undefined ? undefined : names.nameOf(item.value, name),
      custom: type === 'custom_tool_call_output' ? (true as const) : undefined,
    }),
  }
}

/** A thought: its summary where it has one, else its text; `encrypted_content` is its seal. Lenient. */
export function reasoningOf(item: JsonObject, at?: string): ReasoningPart {
  const summary = textsOf(item.summary)
  const content = textsOf(item.content)
  const sealed = stringOf(item.encrypted_content)
  const id = stringOf(item.id)
  const text = content.length > 0 ? content : summary
  const thought = sealed === undefined || sealed === '' ? undefined : unwrapThought(sealed, PROTOCOL)
  if (thought !== undefined && thought.seal.by !== PROTOCOL) {
    return { type: 'reasoning', text: text.join('\n\n'), ...given({ at }), ...thought }
  }
  return {
    type: 'reasoning',
    text: text.join('\n\n'),
    ...(content.length === 0 && { summary: true }),
    ...given({ id, at, seal: thought?.seal }),
  }
}

function textsOf(value: Json | undefined): string[] {
  return arrayOf(value).flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
}
