/** Words in the last user text that ask something of the text model. The docs list them. */
export const WORDS = {
  simulate_refusal: 'The model refuses to answer.',
  simulate_block: 'The prompt is blocked before any model reads it, as by a safety filter.',
  simulate_redacted_thinking: 'What the model thinks, where it thinks, is sent sealed and not shown.',
  simulate_citation: 'The answer cites a page of the web.',
} as const

type Word = keyof typeof WORDS

export function says(text: string, word: Word): boolean {
  return text.includes(word)
}
