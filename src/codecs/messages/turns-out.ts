import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { TextRequest, Turn } from '../../core/text.js'
import { encodePart, encodeText } from './blocks-out.js'

/** What the user says where a conversation has to begin with the user and does not. */
const FILLER = '.'

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: readonly JsonObject[]
  /** Where the first of its turns is in the client's body. */
  readonly at: string | undefined
}

/** `system`: the instructions before and in the conversation. */
export function encodeSystem({ system, turns }: TextRequest, target: Target): readonly JsonObject[] {
  const parts = [...system]
  for (const { role, parts: inner, at } of turns) {
    if (role !== 'system') continue
    target.lose('midSystem', at)
    for (const part of inner) if (part.type === 'text') parts.push(part)
  }
  return parts.map(part => encodeText(part, target)).filter(block => block !== undefined)
}

/**
 * Turns as the service wants them: user and assistant by turns, the user first, no turn empty, and results of tools before
 * anything else that the user says.
 */
export function encodeTurns(turns: readonly Turn[], target: Target): readonly Message[] {
  const messages: (Message & { readonly content: JsonObject[] })[] = []
  for (const turn of turns) {
    if (turn.role === 'system') continue
    if (turn.name !== undefined) target.lose('participant', turn.at === undefined ? undefined : `${turn.at}.name`)
    const content = turn.parts.map(part => encodePart(part, target)).filter(block => block !== undefined)
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role !== turn.role) messages.push({ role: turn.role, content, at: turn.at })
    else for (const block of content) last.content.push(block)
  }
  if (messages[0]?.role !== 'user') {
    target.lose('turns', messages[0]?.at, 'the user has to begin, so a turn with one full stop was inserted before it')
    messages.unshift({ role: 'user', content: [{ type: 'text', text: FILLER }], at: undefined })
  }
  return messages.map((message, i) => {
    if (message.role === 'user') return { ...message, content: resultsFirst(message.content) }
    return i === messages.length - 1 ? { ...message, content: trimmed(message, target) } : message
  })
}

function resultsFirst(content: readonly JsonObject[]): readonly JsonObject[] {
  const isResult = ({ type }: JsonObject): boolean => type === 'tool_result'
  if (!content.some(isResult)) return content
  return [...content.filter(isResult), ...content.filter(block => !isResult(block))]
}

/** The service refuses white space at the end of an answer that it shall continue. */
function trimmed({ content, at }: Message, target: Target): readonly JsonObject[] {
  const last = content.at(-1)
  if (last?.type !== 'text' || typeof last.text !== 'string') return content
  const text = last.text.trimEnd()
  if (text !== last.text) target.lose('prefill', at, 'trailing white space is refused in text to be continued')
  return [...content.slice(0, -1), { ...last, text }]
}

export function wireMessages(messages: readonly Message[]): Json {
  return messages.map(({ role, content }) => ({ role, content }))
}

/**
 * Whether the last turn answers calls of an assistant's turn that does not begin with thoughts: with a thinking budget the
 * service refuses that, as those thoughts belong to the turn that continues.
 */
export function continuesWithoutThoughts(messages: readonly Message[]): boolean {
  const [asked, answered] = [messages.at(-2), messages.at(-1)]
  if (asked?.role !== 'assistant' || answered?.content[0]?.type !== 'tool_result') return false
  const first = asked.content[0]?.type
  return first !== 'thinking' && first !== 'redacted_thinking'
}

type SamplingOut = Readonly<Partial<Record<'temperature' | 'top_p' | 'top_k', number>>>

/** Least `top_p` that the service takes while thinking. */
const MIN_THINKING_TOP_P = 0.95

/**
 * While the model thinks, `temperature` has to be 1, which it is by itself, and there is no `top_k`. `temperature` and
 * `top_p` exclude each other.
 */
export function encodeSampling(request: TextRequest, thinks: boolean, target: Target): SamplingOut {
  if (target.traits.sampling === false) {
    for (const field of ['temperature', 'topP', 'topK'] as const) {
      if (request[field] !== undefined) target.lose(field, undefined, 'the model does not accept sampling parameters')
    }
    return {}
  }
  const temperature = encodeTemperature(request, thinks, target)
  const topP = encodeTopP(request, temperature !== undefined, thinks, target)
  const { topK } = request
  if (topK !== undefined && thinks) target.lose('topK', undefined, 'the model thinks')
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && !thinks && { top_k: topK }),
  }
}

function encodeTemperature({ temperature }: TextRequest, thinks: boolean, target: Target): number | undefined {
  if (temperature === undefined) return undefined
  if (thinks) {
    if (temperature !== 1) target.lose('temperature', undefined, 'the model thinks')
    return undefined
  }
  if (temperature >= 0 && temperature <= 1) return temperature
  target.lose('temperature', undefined, 'it goes from 0 to 1 here')
  return temperature > 1 ? 1 : 0
}

function encodeTopP({ topP }: TextRequest, besides: boolean, thinks: boolean, target: Target): number | undefined {
  if (topP === undefined) return undefined
  const why = besides ? 'it is not accepted with a temperature' : 'the model thinks'
  if (!besides && !(thinks && topP < MIN_THINKING_TOP_P)) return topP
  target.lose('topP', undefined, why)
  return undefined
}
