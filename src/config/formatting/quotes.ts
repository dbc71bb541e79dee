import type { CST } from 'yaml'

/** A token as it is written: texts in double quotes where both kinds of quotes say the same. */
export function quotesOf(token: { readonly type: CST.Token['type']; readonly source: string }): string {
  const { type, source } = token
  return type === 'single-quoted-scalar' ? doubled(source) : source
}

/** `'text'` → `"text"`, unless it has what double quotes would read in another way. */
function doubled(source: string): string {
  const inner = source.slice(1, -1)
  return /["'\\\n]/.test(inner) ? source : `"${inner}"`
}
