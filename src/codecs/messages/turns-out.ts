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
