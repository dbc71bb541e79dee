import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { TextRequest, Turn } from '../../core/text.js'
import { encodePart, encodeText } from './blocks-out.js'
import { DocumentNames } from './media-out.js'

/** What the user says where a conversation has to begin with the user and does not. */
const FILLER = '.'

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
  /** Where the first of its turns is in the client's body. */
  readonly at: string | undefined
}

/** The instructions before and in the conversation. */
export function encodeSystem({ system, turns }: TextRequest, target: Target): JsonObject[] {
  const parts = [...system]
  for (const { role, parts: inner, at } of turns) {
    if (role !== 'system') continue
    target.lose('midSystem', at)
    for (const part of inner) if (part.type === 'text') parts.push(part)
  }
  return parts.flatMap(part => encodeText(part, target))
}

/** User and assistant by turns, the user first, no turn empty, and results before anything else that the user says. */
export function encodeTurns(turns: readonly Turn[], target: Target): readonly Message[] {
  const names = new DocumentNames()
  const messages: Message[] = []
  for (const turn of turns) {
    if (turn.role === 'system') continue
    if (turn.name !== undefined) target.lose('participant', turn.at === undefined ? undefined : `${turn.at}.name`)
    const content = turn.parts.flatMap(part => encodePart(part, names, target))
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role !== turn.role) messages.push({ role: turn.role, content, at: turn.at })
    else for (const block of content) last.content.push(block)
  }
  if (messages[0]?.role !== 'user') {
    target.lose('turns', messages[0]?.at, 'the user has to begin, so a turn with one full stop was inserted before it')
    messages.unshift({ role: 'user', content: [{ text: FILLER }], at: undefined })
  }
  const last = messages.at(-1)
  if (last?.role === 'assistant') trim(last, target)
  return messages
}

/** The service refuses white space at the end of an answer that it shall continue. */
function trim({ content, at }: Message, target: Target): void {
  const last = content.at(-1)
  if (typeof last?.text !== 'string') return
  const text = last.text.trimEnd()
  if (text !== last.text) target.lose('prefill', at, 'trailing white space is refused in text to be continued')
  content[content.length - 1] = { text }
}
