import { parseDataUrl } from '../../codecs/media.js'

/** A result that stands in an upstream's answer itself. */
export interface Inline {
  readonly variant: string
  /** Media type; empty where nobody says it. */
  readonly type: string
  readonly base64: string
}

/** Shortest text without `data:` that is taken for bytes, characters. */
const MIN_BASE64_CHARS = 64
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** How pictures of the one format begin whose base64 looks like a path. */
const PATHLIKE = '/9j/'

/**
 * The bytes that a text stands for: a data URL, or bare base64. Undefined for an address, which `longest` characters at
 * most can be.
 */
export function inlineOf(text: string, maxUrlChars: number): Omit<Inline, 'variant'> | undefined {
  if (text.startsWith('data:')) {
    const data = parseDataUrl(text)
    return data === undefined ? undefined : { type: data.mime, base64: data.base64 }
  }
  const isPath = text.startsWith('/') && !text.startsWith(PATHLIKE) && text.length <= maxUrlChars
  if (isPath || text.length < MIN_BASE64_CHARS) return undefined
  const plain = text.includes('\n') ? text.replaceAll(/\s/g, '') : text
  return BASE64.test(plain) ? { type: '', base64: plain } : undefined
}
