/** Longest name of a member that is shown, in characters. */
const MAX_NAME_CHARS = 128

/** Header-safe: clients choose the names of members that no one knows. Percent-encoded, as in URLs, and cut. */
export function shownName(name: string): string {
  const safe = name.slice(0, MAX_NAME_CHARS).replace(/[^\x21-\x24\x26-\x2b\x2d-\x7e]/gu, escaped)
  return safe.length <= MAX_NAME_CHARS ? safe : safe.slice(0, MAX_NAME_CHARS).replace(/%.?$/, '')
}

function escaped(letter: string): string {
  return Array.from(Buffer.from(letter), byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}
