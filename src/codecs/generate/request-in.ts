import type { RequestHead } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { Left, Part, TextPart, TextRequest, Turn } from '../../core/text.js'
import { child, children, readerOf } from '../native-casing.js'
import { given, invalid, isBounded, leaveOthers, type Reader } from '../read.js'
import { PROTOCOL, wireName } from './calls.js'
import { configIn } from './config-in.js'
import { CallIds, detailOf, type PartsReader, partIn, responseOf } from './parts-in.js'
import { toolChoiceIn, toolsIn } from './tools-in.js'
import { tierOf } from './usage.js'

const KNOWN = new Set([
  ...['model', 'contents', 'systemInstruction', 'generationConfig', 'tools', 'toolConfig', 'serviceTier', 'store'],
  'cachedContent',
])
export const REQUEST_WHY = {
  safetySettings: 'other protocols cannot set how harmful content is filtered',
  labels: 'other protocols have no labels for billing',
}

/** A request of `generateContent` or `streamGenerateContent`. */
export function decodeRequest(body: JsonObject, head: RequestHead): TextRequest {
  const left: Left[] = []
  const reader = readerOf(body, '')
  leaveOthers(reader, KNOWN, left, REQUEST_WHY)
  const config = child(reader, 'generationConfig')
  if (config !== undefined && !isBounded(config.value)) throw invalid(config.at, 'it is nested too deep')
  const detail = detailOf(config?.string('mediaResolution'))
  const parts: PartsReader = { ids: new CallIds(), left, detail }
  return {
    model: head.model,
    stream: head.stream,
    streamUsage: true,
    system: systemIn(reader, left),
    turns: [...cachedIn(reader), ...turnsIn(reader, parts)],
    tools: toolsIn(reader, left),
    ...configIn(config, left),
    ...given({
      toolChoice: toolChoiceIn(reader, left),
      serviceTier: tierOf(reader.string('serviceTier')),
      store: reader.boolean('store'),
    }),
    left,
  }
}

/** Instructions are text. One string stands for the whole, as some clients write it. */
function systemIn(body: Reader, left: Left[]): TextPart[] {
  const raw = body.raw('systemInstruction')
  if (typeof raw === 'string') return raw === '' ? [] : [{ type: 'text', text: raw, at: 'systemInstruction' }]
  const content = child(body, 'systemInstruction')
  if (content === undefined) return []
  leaveOthers(content, new Set(['parts', 'role']), left)
  return children(content, 'parts').flatMap(part => {
    leaveOthers(part, new Set(['text', 'thought', 'thoughtSignature']), left, INSTRUCTION_WHY)
    const text = part.string('text') ?? ''
    return text === '' ? [] : [{ type: 'text' as const, text, at: part.at }]
  })
}

const ONLY_TEXT = 'other protocols accept instructions only as text'
const INSTRUCTION_WHY = {
  inlineData: ONLY_TEXT,
  fileData: ONLY_TEXT,
  functionCall: ONLY_TEXT,
  functionResponse: ONLY_TEXT,
}

/**
 * Streams give thoughts and texts in pieces, and clients send the pieces back unchanged: those of an answer become one
 * part again, with the seal that came with the last of them. What is sealed already is whole.
 */
function addPart(parts: Part[], part: Part, isAnswer: boolean): void {
  const last = parts.at(-1)
  const continues = isAnswer && last?.seal === undefined && last?.type === part.type
  if (continues && last.type === 'reasoning' && part.type === 'reasoning') {
    // The last of them tells what the whole is.
    parts[parts.length - 1] = { ...part, at: last.at ?? '', text: last.text + part.text }
  } else if (continues && last.type === 'text' && part.type === 'text') {
    parts[parts.length - 1] = { ...last, ...part, at: last.at ?? '', text: last.text + part.text }
  } else parts.push(part)
}

/**
 * `cachedContent`: what the conversation begins with is at one upstream, which alone can read it there. Nothing can be
 * answered without it, so it is refused elsewhere, as any file of another upstream is.
 */
function cachedIn(body: Reader): Turn[] {
  const file = body.string('cachedContent')
  if (file === undefined || file === '') return []
  const at = 'cachedContent'
  const source = { file, of: PROTOCOL, why: 'cached content is known only to the upstream that keeps it' }
  return [{ role: 'user', parts: [{ type: 'media', kind: 'document', source, at }], at }]
}

function turnsIn(body: Reader, request: PartsReader): Turn[] {
  const turns: Turn[] = []
  for (const content of children(body, 'contents')) {
    leaveOthers(content, new Set(['role', 'parts']), request.left)
    const parts: Part[] = []
    for (const reader of children(content, 'parts')) {
      const part = partIn(reader, request)
      if (part !== undefined) addPart(parts, part, content.string('role') === 'model')
    }
    // Clients with nothing to ask send an empty text, and answers leave empty turns in the history.
    if (parts.length === 0) {
      if (content.string('role') === 'model') continue
      parts.push({ type: 'text', text: '', at: `${content.at}.parts[0]` })
    }
    const role = roleIn(content, parts)
    turns.push({ role, parts: parts.map(part => placed(part, role)), at: content.at })
  }
  if (turns.length === 0) throw invalid('contents', 'it is required')
  return turns
}

/** Calls are the model's, and their results the user's; a result in a turn of the model is a trace of a hosted tool. */
function placed(part: Part, role: Turn['role']): Part {
  if (part.type === 'call' && role !== 'assistant') {
    throw invalid(`${part.at}.functionCall`, 'calls belong in turns of the model')
  }
  if (part.type !== 'result' || role === 'user') return part
  const { name = '', id, at } = part
  const value = { functionResponse: { id, name: wireName(name), response: responseOf(part) } }
  return { type: 'hosted', of: PROTOCOL, value, ...(at !== undefined && { at }) }
}

/** Without a role, a call is the model's, and everything else the user's. */
function roleIn(content: Reader, parts: readonly Part[]): Turn['role'] {
  switch (content.string('role') ?? '') {
    case 'model':
      return 'assistant'
    case 'user':
    // Turns with results have these names in older clients and in examples.
    case 'function':
    case 'tool':
      return 'user'
    case '':
      return parts.some(({ type }) => type === 'call') ? 'assistant' : 'user'
    default:
      throw invalid(content.path('role'), 'expected user or model')
  }
}
