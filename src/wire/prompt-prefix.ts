import { OPEN_BRACKET } from '../core/ascii.js'
import { type Item, JsonCursor } from './json-cursor.js'

/** Members that hold a prompt, in the order in which models read them; a request has those of its protocol. */
const PROMPT_MEMBERS = [
  'tools',
  'system',
  'instructions',
  'systemInstruction',
  'system_instruction',
  'messages',
  'input',
  'contents',
  'prompt',
]
const TURNS: ReadonlySet<string> = new Set(['messages', 'input', 'contents'])
/** Roles of what comes before the first turn. */
const BEFORE: readonly string[] = ['"system"', '"developer"']

/**
 * The first bytes of a prompt, to the end of its first turn: the same in every request of a conversation, and in
 * conversations that begin alike. Undefined: there is none.
 */
export function firstTurn(body: Buffer, bytes: number): Buffer | undefined {
  try {
    return read(new JsonCursor(body), bytes)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function read(cursor: JsonCursor, bytes: number): Buffer | undefined {
  const top = cursor.root()
  const pieces: Buffer[] = []
  let left = bytes
  const take = ({ start, end }: Item): void => {
    pieces.push(cursor.doc.subarray(start, Math.min(end, start + left)))
    left = Math.max(0, left - (end - start))
  }
  for (const name of PROMPT_MEMBERS) {
    const item = cursor.named(top, name).at(-1)
    if (item === undefined || left === 0) continue
    if (!TURNS.has(name) || cursor.doc[item.start] !== OPEN_BRACKET) take(item)
    else {
      for (const turn of cursor.container(item.start).items) {
        take(turn)
        if (left === 0 || !isBefore(cursor, turn)) break
      }
    }
  }
  return pieces.length === 0 ? undefined : Buffer.concat(pieces)
}

function isBefore(cursor: JsonCursor, turn: Item): boolean {
  if (!cursor.isContainer(turn.start)) return false
  const role = cursor.named(cursor.container(turn.start), 'role').at(-1)
  return role !== undefined && BEFORE.includes(cursor.doc.toString('latin1', role.start, role.end))
}
