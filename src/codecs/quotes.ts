import type { LongText } from '../core/long-text.js'
import type { Citation } from '../core/text.js'

/** Most citations of one text, or of one candidate. */
export const MAX_CITATIONS = 10_000

/** Most characters that a citation repeats of the text that it supports: that text may be long, and cited often. */
const MAX_QUOTE_CHARS = 2000

/** What a citation quotes of its source; where it does not say, the text that it supports. */
export function quoteOf({ quote, start, end }: Citation, text: Pick<LongText, 'slice'>): string {
  if (quote !== undefined || start === undefined || end === undefined) return quote ?? ''
  return text.slice(start, Math.min(end, start + MAX_QUOTE_CHARS))
}
