import { parseDataUrl } from '../../codecs/media.js'

/** A result inside an upstream's answer. */
export interface Inline {
  readonly variant: string
  /** Media type; empty if unknown. */
  readonly type: string
  readonly base64: string
}

/** Shortest text without `data:` that is taken for base64, characters. */
const MIN_BASE64_CHARS = 64
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** JPEG in base64 begins like a path. */
const PATHLIKE = '/9j/'

/**
 * Decodes the form of a result's text: a data URL, or bare base64. Undefined for an address, which has `maxUrlChars`
 * characters at most.
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
