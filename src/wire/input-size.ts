import type { Json } from '../core/json.js'

/** Tokens of input. */
export interface InputSize {
  /** At most: no tokenizer makes more than one of a byte. */
  readonly tokens: number
  readonly likely: number
  /** Media among it that are small or somewhere else, each with the rate of one: their bytes say nothing. */
  readonly links: number
}

export const NO_INPUT: InputSize = { tokens: 0, likely: 0, links: 0 }

/** A shorter string counts by its bytes, media or not. */
export const MIN_MEDIA_BYTES = 8192
/** The most tokens that one image, sound or document in a body is reserved with, and what it most likely is. */
export const MEDIA_TOKENS = 16_384
export const LIKELY_MEDIA_TOKENS = 1024
/** Bytes of text that are most likely one token. */
export const BYTES_PER_TOKEN = 4

/** Members that hold text, or thoughts, even where it looks like base64: a model reads all of it. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ...['text', 'content', 'input', 'prompt', 'instructions', 'system', 'arguments', 'output', 'query', 'summary'],
  ...['encrypted_content', 'reasoning_content', 'thinking', 'signature', 'thoughtSignature', 'thought_signature'],
])

/** How many characters of a long string are looked at, spread over its second half. */
const SAMPLES = 64
const BASE64 = /^[\w+/=-]+$/
const DATA_URL = 'data:'
/** How much of a string says whether it is a link. */
export const LINK_CHARS = 6

/**
 * Whether a long string is media as base64, perhaps behind `data:TYPE;base64,`, and not text for the model. `member` is undefined
 * for an element of a list, where only `data:` tells. `charAt` gives its characters.
 */
export function isMedia(
  member: string | undefined,
  begin: string,
  length: number,
  charAt: (index: number) => string,
): boolean {
  if (member === undefined ? !begin.startsWith(DATA_URL) : member.includes('\\') || TEXT_MEMBERS.has(member))
    return false
  const half = length >> 1
  let sample = ''
  for (let index = 0; index < SAMPLES; index++) sample += charAt(half + Math.floor((index * half) / SAMPLES))
  return BASE64.test(sample)
}

/** Longest text before the content of a data URL. */
export const MAX_HEAD_CHARS = 256

/** Where the content of a string begins, of which this is the beginning: only what describes a data URL may have blanks. */
export function contentFrom(begin: string): number {
  return begin.startsWith(DATA_URL) ? Math.max(0, begin.slice(0, MAX_HEAD_CHARS).indexOf(',')) : 0
}

/** Whether a long text is media. */
export function isMediaText(member: string | undefined, value: string): boolean {
  if (value.includes(' ', contentFrom(value)) || value.includes('\\')) return false
  return isMedia(member, value.slice(0, DATA_URL.length), value.length, at => value.charAt(at))
}

/** Members whose value is media, or the id of media that the upstream keeps. */
const LINK_MEMBERS: ReadonlySet<string> = new Set(['file_id', 'fileId', 'file_uri', 'fileUri', 'data'])
/** Members with URLs of something that no model looks at. */
const OTHER_LINKS = /^\$|hook|callback|server|endpoint|^user$|^metadata$/i

/** Whether a string that is not long stands for media, which may be somewhere else; it begins like this. */
export function isLink(member: string | undefined, begin: string): boolean {
  if (member === undefined) return false
  if (LINK_MEMBERS.has(member)) return true
  return /^(https?|data):/.test(begin) && !TEXT_MEMBERS.has(member) && !OTHER_LINKS.test(member)
}

/** What was found of media in a text: those that are long, with their bytes, and others. */
interface FoundMedia {
  bytes: number
  count: number
  links: number
}

/** The size of a text of so many bytes with media in it. */
export function sizeOf(bytes: number, media: Readonly<FoundMedia>): InputSize {
  const text = Math.max(0, bytes - media.bytes)
  const count = media.count + media.links
  return {
    tokens: text + count * MEDIA_TOKENS,
    likely: Math.ceil(text / BYTES_PER_TOKEN) + count * LIKELY_MEDIA_TOKENS,
    links: media.links,
  }
}

/** The size of a value that is so many bytes as JSON. */
export function sizeOfJson(value: Json, bytes: number): InputSize {
  const media = { bytes: 0, count: 0, links: 0 }
  addMedia(value, media)
  return sizeOf(bytes, media)
}

function addMedia(top: Json, media: FoundMedia): void {
  const rest: (readonly [member: string | undefined, value: Json | undefined])[] = [[undefined, top]]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [member, value] = next
    if (typeof value === 'string') {
      if (value.length <= MIN_MEDIA_BYTES) {
        if (isLink(member, value.slice(0, LINK_CHARS))) media.links++
        continue
      }
      if (!isMediaText(member, value)) continue
      media.bytes += value.length
      media.count++
    } else if (Array.isArray(value)) for (const one of value) rest.push([undefined, one])
    else if (typeof value === 'object' && value !== null)
      for (const name in value) rest.push([name, (value as { readonly [name: string]: Json })[name]])
  }
}

export function sumOf(one: InputSize, other: InputSize): InputSize {
  if (one === NO_INPUT) return other
  return { tokens: one.tokens + other.tokens, likely: one.likely + other.likely, links: one.links + other.links }
}

/** With so many media that were fetched, of which the links are known. */
export function withFetched(input: InputSize, fetched: number): InputSize {
  const more = Math.max(0, fetched - input.links)
  return more === 0 ? input : sumOf(input, sizeOf(0, { bytes: 0, count: more, links: 0 }))
}
