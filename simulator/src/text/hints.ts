const MAX_READ_CHARS = 2000
const HINT = /([A-Za-z_]\w{0,63})\s{0,3}[=:]\s{0,3}("[^"\n]{0,200}"|[^\s,;"]{1,200})/g

/**
 * `name=value` and `name: "some value"` pairs in the first 2,000 characters of a text: a tester writes
 * "call get_weather with city=Paris", and the argument `city` is `Paris` where the tool's schema allows it.
 */
export function hintsIn(text: string): ReadonlyMap<string, string> {
  const hints = new Map<string, string>()
  for (const [, name, value] of text.slice(0, MAX_READ_CHARS).matchAll(HINT)) {
    if (name !== undefined && value !== undefined) hints.set(name, value.replace(/^"|"$/g, '').replace(/[.!?]$/, ''))
  }
  return hints
}
