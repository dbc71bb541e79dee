import type { CallPart, Part, TextPart, TextRequest, Turn } from '../core/text.js'

/** Names of the tools that were called, by the id of the call. */
export function callNames(turns: readonly Turn[]): ReadonlyMap<string, string> {
  const calls = turns.flatMap(({ parts }) => parts.filter((part): part is CallPart => part.type === 'call'))
  return new Map(calls.map(({ id, name }) => [id, name]))
}

/** Neighbours of one role become one turn, for protocols whose roles take turns. */
export function mergeTurns(turns: readonly Turn[]): readonly Turn[] {
  const merged: Turn[] = []
  for (const turn of turns) {
    const last = merged.at(-1)
    if (last?.role === turn.role && last.name === turn.name) {
      merged[merged.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] }
    } else merged.push(turn)
  }
  return merged
}

/** Texts, joined by a blank line, for places that take one string. */
export function plainText(parts: readonly Part[]): string {
  return parts
    .filter((part): part is TextPart => part.type === 'text')
    .map(({ text }) => text)
    .join('\n\n')
}

/** Instructions anywhere in the conversation, for protocols that know them only before it. */
export function hoistSystem({ system, turns }: Pick<TextRequest, 'system' | 'turns'>): {
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
} {
  const middle = turns.filter(({ role }) => role === 'system')
  const texts = middle.flatMap(({ parts }) => parts.filter((part): part is TextPart => part.type === 'text'))
  return { system: [...system, ...texts], turns: turns.filter(({ role }) => role !== 'system') }
}
