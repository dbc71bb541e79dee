import type { AmountPaths, Demand } from '../core/amounts.js'
import { BACKSLASH, QUOTE, SPACE } from '../core/ascii.js'
import { isObject, type Json, parseJson } from '../core/json.js'
import { JsonValues } from './json-values.js'

/** Smaller bodies are parsed at once. */
const SMALL_BYTES = 4096
/** A shorter string counts by its bytes, media or not. */
const MIN_MEDIA_BYTES = 8192
/** The most tokens that one image, sound or document in a body is reserved with, and what it most likely is. */
const MEDIA_TOKENS = 16_384
const LIKELY_MEDIA_TOKENS = 1024
/** Bytes of text that are most likely one token. */
export const BYTES_PER_TOKEN = 4
/** What one search may search; more documents are further searches. */
const DOCUMENTS_PER_SEARCH = 100
/** Sound of the lowest usual rate (8 kbit/s): it lasts no longer than its bytes at this rate. */
const BYTES_PER_AUDIO_SECOND = 1000
/** Of video, where the request does not say: no server makes more by itself. */
const UNSAID_SECONDS = 16
/** A larger number is a mistake, or meant to make sums overflow. */
const MAX_AMOUNT = 1e12

const NO_PATHS: AmountPaths = {
  output: [],
  choices: [],
  images: [],
  characters: [],
  items: [],
  seconds: [],
  audio: false,
  batch: false,
  free: false,
}

/** What a request with a JSON body asks for. `paths`: of the protocol in which it is written. */
export function demandOfBytes(bytes: Buffer, paths: AmountPaths = NO_PATHS): Demand {
  return demand(inputOf(bytes), valuesOf(bytes, paths), paths, bytes.length)
}

/** The same of a form of that many bytes, by the values of its fields. */
export function demandOfForm(size: number, valueAt: (name: string) => unknown, paths: AmountPaths = NO_PATHS): Demand {
  // Files of a form are media; their text fields are short.
  const input = { tokens: Math.min(size, MEDIA_TOKENS), likely: Math.min(size, LIKELY_MEDIA_TOKENS) }
  return demand(input, path => valueAt(path.join('.')), paths, size)
}

/** The same of a request without a body, or with one that is not read. */
export function demandOfNothing(paths: AmountPaths = NO_PATHS): Demand {
  return demand({ tokens: 0, likely: 0 }, NOTHING, paths, 0)
}

type Values = (path: readonly string[]) => unknown

function demand(
  input: { readonly tokens: number; readonly likely: number },
  at: Values,
  paths: AmountPaths,
  size: number,
): Demand {
  const items = largest(paths.items, at)
  return {
    input: input.tokens,
    likelyInput: input.likely,
    output: largest(paths.output, at),
    choices: paths.batch
      ? 1
      : Math.min(MAX_AMOUNT, Math.max(1, largest(paths.choices, at) ?? 1) * Math.max(1, items ?? 1)),
    images: paths.images.length === 0 ? 0 : Math.max(1, largest(paths.images, at) ?? 1),
    characters: lengthAt(paths.characters, at),
    requests: paths.batch ? Math.max(1, items ?? 1) : 1,
    searches: paths.items.length === 0 || paths.batch ? 0 : Math.max(1, Math.ceil((items ?? 1) / DOCUMENTS_PER_SEARCH)),
    seconds: paths.seconds.length === 0 ? 0 : (largest(paths.seconds, at) ?? UNSAID_SECONDS),
    heard: paths.audio ? Math.ceil(size / BYTES_PER_AUDIO_SECOND) : 0,
  }
}

/** The largest number at the paths; lists count their elements. */
function largest(paths: AmountPaths['output'], at: Values): number | undefined {
  let most: number | undefined
  for (const path of paths) {
    const value = at(path)
    const count = Array.isArray(value)
      ? value.length
      : Number(typeof value === 'string' ? value || Number.NaN : (value ?? Number.NaN))
    if (count >= 0) most = Math.max(most ?? 0, Math.min(MAX_AMOUNT, Math.ceil(count)))
  }
  return most
}

function lengthAt(paths: AmountPaths['characters'], at: Values): number {
  let sum = 0
  for (const path of paths) {
    const value = at(path)
    if (typeof value === 'string') sum += [...value].length
    else if (typeof value === 'number') sum += value
  }
  return sum
}

/** Names of paths, in quotes: a body without one has no value there. */
const QUOTED = new WeakMap<AmountPaths, readonly Buffer[]>()

function quoted(paths: AmountPaths): readonly Buffer[] {
  const known = QUOTED.get(paths)
  if (known !== undefined) return known
  const { output, choices, images, characters, items, seconds } = paths
  const names = [output, choices, images, characters, items, seconds].flat().map(path => `"${path.at(-1)}"`)
  const made = [...new Set(names)].map(name => Buffer.from(name))
  QUOTED.set(paths, made)
  return made
}

const NOTHING: Values = () => undefined

/** Most requests name none of these members: then nothing is parsed. A key may be written with escapes. */
function valuesOf(bytes: Buffer, paths: AmountPaths): Values {
  const names = quoted(paths)
  if (names.length === 0) return NOTHING
  if (!names.some(name => bytes.includes(name)) && !bytes.includes('\\u')) return NOTHING
  if (bytes.length > SMALL_BYTES) return largeValues(bytes)
  const document = parseJson(bytes.toString('utf8'))
  return path => valueIn(document, path)
}

function largeValues(bytes: Buffer): Values {
  const values = new JsonValues(bytes)
  return path => {
    try {
      return values.at(path)
    } catch {
      return undefined
    }
  }
}

function valueIn(document: Json | undefined, path: readonly string[]): unknown {
  let at: unknown = document
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return at
}

function inputOf(bytes: Buffer): { readonly tokens: number; readonly likely: number } {
  const { length } = bytes
  if (length < MIN_MEDIA_BYTES) return { tokens: length, likely: Math.ceil(length / BYTES_PER_TOKEN) }
  let [media, count] = [0, 0]
  for (let start = bytes.indexOf(QUOTE); start >= 0; ) {
    const end = bytes.indexOf(QUOTE, start + 1)
    if (end < 0) break
    if (end - start > MIN_MEDIA_BYTES && isMedia(bytes, start + 1, end)) {
      media += end - start
      count++
    }
    start = end
  }
  const text = length - media
  return {
    tokens: text + count * MEDIA_TOKENS,
    likely: Math.ceil(text / BYTES_PER_TOKEN) + count * LIKELY_MEDIA_TOKENS,
  }
}

/** How many bytes of a long string are looked at, spread over its second half. */
const SAMPLES = 64
const BASE64 = /^[\w+/=-]+$/

/** Whether a long string is base64, perhaps behind `data:TYPE;base64,`. */
function isMedia(bytes: Buffer, start: number, end: number): boolean {
  const inside = bytes.subarray(start, end)
  if (inside.includes(SPACE) || inside.includes(BACKSLASH)) return false
  const half = inside.length >> 1
  let sample = ''
  for (let index = 0; index < SAMPLES; index++)
    sample += String.fromCharCode(inside[half + Math.floor((index * half) / SAMPLES)] ?? 0)
  return BASE64.test(sample)
}

/** What a session is reserved with at a time: it says nothing of what it will take. */
export const SESSION: Demand = {
  input: 16_384,
  likelyInput: 0,
  output: 16_384,
  choices: 1,
  images: 0,
  characters: 0,
  searches: 0,
  requests: 1,
  seconds: 0,
  heard: 0,
}
