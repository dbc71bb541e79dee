/** Begins names that were rewritten; those of tools that take free text. */
const PREFIX = 'gw__'
const CUSTOM_PREFIX = 'gwc__'

/** Names of functions: a letter or an underscore, then letters, digits and `_ : . -`, at most 128. */
const VALID = /^[A-Za-z_][A-Za-z0-9_:.-]*$/

const ESCAPED = /_x([0-9a-f]{1,6})_/g

/**
 * The name as the protocol takes it: another character, and the underscore with it, is its code in hex between `_x` and
 * `_`. {@link clientName} undoes that without knowing the request. A tool that takes free text is a function here; its
 * name says so, and its calls become what they were.
 */
export function wireName(name: string, custom = false): string {
  if (!custom && VALID.test(name) && !name.startsWith(PREFIX) && !name.startsWith(CUSTOM_PREFIX)) return name
  const body = Array.from(name, letter => (/[A-Za-z0-9:.-]/.test(letter) ? letter : escaped(letter))).join('')
  return (custom ? CUSTOM_PREFIX : PREFIX) + body
}

function escaped(letter: string): string {
  return `_x${(letter.codePointAt(0) ?? 0).toString(16)}_`
}

/** The name that the client gave to the tool, and whether it takes free text. */
export function clientName(name: string): { readonly name: string; readonly custom: boolean } {
  const custom = name.startsWith(CUSTOM_PREFIX)
  if (!custom && !name.startsWith(PREFIX)) return { name, custom }
  return { name: name.slice(custom ? CUSTOM_PREFIX.length : PREFIX.length).replace(ESCAPED, unescaped), custom }
}

function unescaped(all: string, hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : all
}
