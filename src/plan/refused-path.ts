/** A path of visible ASCII without `#` and `\`. */
const SOUND = /^\/[!"$-[\]-~]*$/
const HIDDEN = /[\p{Cc}\\]/u
/** `.` and `..` segments, also with the path parameters (`..;x`) that some servers strip. */
const DOTS = /(?:^|\/)\.{1,2}(?:;[^/]*)?(?:\/|$)/

/**
 * Whether a raw path, as in the request line, is refused before routing: it is not a path, an escape
 * is malformed, or it holds, plain or escaped, backslashes, control characters, or `.` and `..` segments.
 */
export function isRefused(path: string): boolean {
  if (!SOUND.test(path)) return true
  const decoded = path.includes('%') ? decode(path) : path
  return decoded === undefined || HIDDEN.test(decoded) || DOTS.test(decoded)
}

/** Undefined where an escape is malformed or its bytes are not UTF-8. */
function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
