/** Characters that a terminal draws two columns wide: East Asian wide and full-width forms, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u
/** Characters that take no column: combining marks, joiners and variation selectors. */
const ZERO = /\p{Mn}|\p{Me}|[\u200b-\u200d\u2060\ufeff]/u

/**
 * Blank text as wide on a terminal as `text`: tabs stay tabs, so that everything below lines up wherever the
 * terminal's tab stops are.
 */
export function blankLike(text: string): string {
  return [...text].map(character => (character === '\t' ? '\t' : ' '.repeat(columns(character)))).join('')
}

/** How many columns a terminal takes to draw a text without tabs. */
export function columnsOf(text: string): number {
  return [...text].reduce((sum, character) => sum + columns(character), 0)
}

function columns(character: string): number {
  if (ZERO.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
