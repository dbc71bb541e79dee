import type { Target } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { TextRequest, Turn } from '../../core/text.js'
import { encodePart, encodeText } from './blocks-out.js'
import { DocumentNames } from './media-out.js'

/** What the user says where the service demands words and there are none. */
const FILLER = '.'

interface Message {
  readonly role: 'user' | 'assistant'
  content: JsonObject[]
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

/**
 * User and assistant by turns, the user first, no turn empty, results before anything else that the user says, calls
 * behind what the assistant says, and a text beside documents.
 */
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
  for (const message of messages) {
    message.content = ordered(message)
    if (message.role === 'user') addText(message, target)
  }
  const last = messages.at(-1)
  if (last?.role === 'assistant') trim(last, target)
  return messages
}

/** A mark stays behind its block, and no block moves across thoughts, which are signed with what is around them. */
function ordered({ role, content }: Message): JsonObject[] {
  let [stretch, rank] = [0, 0]
  const ranked = content.map(block => {
    if (block.reasoningContent !== undefined) stretch += 2
    if (block.cachePoint === undefined) rank = comesLast(block, role) ? stretch + 1 : stretch
    return { block, rank }
  })
  return ranked.sort((a, b) => a.rank - b.rank).map(({ block }) => block)
}

/** Of a user all but results, of the assistant the calls that the client runs: those of tools at the upstream have a type. */
function comesLast({ toolUse, toolResult }: JsonObject, role: Message['role']): boolean {
  return role === 'user' ? toolResult === undefined : isObject(toolUse) && toolUse.type === undefined
}

/** The service refuses a document without a text beside it. */
function addText({ content, at }: Message, target: Target): void {
  if (content.every(block => block.document === undefined) || content.some(({ text }) => text !== undefined)) return
  target.lose('turns', at, 'a document needs a text beside it, so one full stop was added')
  content.splice(content.at(-1)?.cachePoint === undefined ? content.length : -1, 0, { text: FILLER })
}

/** See the function of this name in codec `messages`: models of that vendor refuse it here, too. */
export function continuesWithoutThoughts(messages: readonly Message[]): boolean {
  const [asked, answered] = [messages.at(-2), messages.at(-1)]
  if (asked?.role !== 'assistant' || answered?.content[0]?.toolResult === undefined) return false
  return asked.content[0]?.reasoningContent === undefined
}

/** The service refuses white space at the end of an answer that it shall continue. */
function trim({ content, at }: Message, target: Target): void {
  const last = content.at(-1)
  if (typeof last?.text !== 'string') return
  const text = last.text.trimEnd()
  if (text !== last.text) target.lose('prefill', at, 'trailing white space is refused in text to be continued')
  content[content.length - 1] = { text }
}
