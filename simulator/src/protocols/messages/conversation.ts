import type { Fields } from '../../families/fields.js'
import { invalid } from '../../families/messages.js'
import type { Part, Turn } from '../../text/conversation.js'
import { type Block, type Role, readBlocks } from './blocks.js'

export interface Message {
  readonly role: Role
  readonly blocks: readonly Block[]
  /** `messages.3` */
  readonly path: string
}

/** The messages of a body. Throws where one is malformed, a call has no result or a result no call. */
export function readMessages(body: Fields): readonly Message[] {
  const listed = body.need('messages', body.list)
  if (listed.length === 0) throw invalid('messages', 'at least one message is required')
  const messages = listed.map((fields, index) => message(fields, index === listed.length - 1))
  if (messages[0]?.role !== 'user') throw invalid('messages', 'first message must use the "user" role')
  checkCalls(messages)
  return messages
}

const ROLES: readonly Role[] = ['user', 'assistant', 'system']

function message(fields: Fields, last: boolean): Message {
  const role = fields.only(['role', 'content']).needOneOf('role', ROLES)
  if (fields.raw('content') === undefined) throw invalid(fields.param('content'), 'Field required')
  const blocks = readBlocks(fields, 'content', role)
  const empty = blocks.length === 0 || fields.raw('content') === ''
  if (empty && !(last && role === 'assistant'))
    throw invalid(fields.path, `${role} messages must have non-empty content`)
  return { role, blocks, path: fields.path }
}

/** The turns that the text model reads: results of tools are turns of their own, before the rest of their message. */
export function turnsOf(messages: readonly Message[]): readonly Turn[] {
  return messages.flatMap(({ role, blocks }) => {
    const parts = blocks.flatMap(({ part }) => (part === undefined ? [] : [part]))
    const results = parts.filter(part => part.type === 'result')
    const others = parts.filter(part => part.type !== 'result')
    const turns: readonly Turn[] = [
      { role: 'tool', parts: results },
      { role, parts: others },
    ]
    return turns.filter(turn => turn.parts.length > 0)
  })
}

/** Neighbours of one role count as one message; all calls in it are answered by what comes first in the next one. */
function checkCalls(messages: readonly Message[]): void {
  let open = new Set<string>()
  for (const [index, { role, blocks, path }] of messages.entries()) {
    const parts = blocks.flatMap(({ part }) => (part === undefined ? [] : [part]))
    if (role === 'assistant') {
      if (messages[index - 1]?.role !== 'assistant') open = new Set()
      for (const [at, id] of callsIn(blocks)) {
        if (open.has(id)) throw invalid(`${path}.content.${at}`, '`tool_use` ids must be unique')
        open.add(id)
      }
      continue
    }
    answer(parts, open, path)
    if (open.size > 0 && messages[index + 1]?.role !== 'user') throw unanswered(open, path)
  }
  if (open.size > 0) throw unanswered(open, `messages.${messages.length - 1}`)
}

function callsIn(blocks: readonly Block[]): readonly (readonly [number, string])[] {
  return blocks.flatMap(({ part }, at) => (part?.type === 'call' ? [[at, part.id] as const] : []))
}

function answer(parts: readonly Part[], open: Set<string>, path: string): void {
  for (const [at, part] of parts.entries()) {
    if (part.type !== 'result') {
      if (open.size > 0) throw unanswered(open, path)
    } else if (!open.delete(part.id)) throw unasked(part.id, `${path}.content.${at}`)
  }
}

function unanswered(open: ReadonlySet<string>, path: string) {
  return invalid(
    path,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}. Each ` +
      '`tool_use` block must have a corresponding `tool_result` block in the next message.',
  )
}

function unasked(id: string, path: string) {
  return invalid(
    path,
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id.slice(0, 100)}. Each \`tool_result\` block must ` +
      'have a corresponding `tool_use` block in the previous message.',
  )
}
