import type { Part, TextPart, TextRequest, Turn } from '../core/text.js'

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
