import type { AmountPaths, Demand } from '../core/amounts.js'
import type { JsonObject } from '../core/json.js'
import { NOTHING, type Values, valuesOfBytes, valuesOfDocument, valuesOfMembers } from './demand-values.js'
import { inputOfBytes, mayHaveLink } from './input-of-bytes.js'
import {
  BYTES_PER_TOKEN,
  type InputSize,
  isMediaText,
  LIKELY_MEDIA_TOKENS,
  MEDIA_TOKENS,
  MIN_MEDIA_BYTES,
  NO_INPUT,
} from './input-size.js'
import type { MemberSpan } from './json-scan.js'
import { durationOf, type SoundFile } from './sound.js'

/** What one search may search; more documents are further searches. */
const DOCUMENTS_PER_SEARCH = 100
/** Of video, where the request does not say: no server makes more by itself. */
const UNSAID_SECONDS = 16
/** A larger number is a mistake, or meant to make sums overflow. */
const MAX_AMOUNT = 1e12

const SILENCE = { most: 0, likely: 0 }

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
  return demand(inputOfBytes(bytes), valuesOfBytes(bytes, paths), paths, bytes)
}

/** The same of a small one that has been parsed. */
export function demandOfDocument(
  { text, document }: { readonly text: string; readonly document: JsonObject },
  bytes: Buffer,
  paths: AmountPaths = NO_PATHS,
): Demand {
  return demand(inputOfBytes(bytes, mayHaveLink(text)), valuesOfDocument(document), paths, bytes)
}

/** The same of one in which a scan has found the members that the paths name, and whether there may be links. */
export function demandOfScan(
  { noted, mayLink }: { readonly noted: readonly MemberSpan[]; readonly mayLink: boolean },
  bytes: Buffer,
  paths: AmountPaths = NO_PATHS,
): Demand {
  return demand(inputOfBytes(bytes, mayLink), valuesOfMembers(bytes, noted), paths, bytes)
}

/** What is known of a form. */
export interface ReadFields {
  readonly spool: { readonly length: number }
  readonly files: readonly SoundFile[]
  readonly fields: readonly { readonly name: string; readonly value: string | undefined }[]
  readonly value: (name: string) => string | undefined
}

/** The same of a form, by the values of its fields and the beginnings of its files. */
export function demandOfForm(form: ReadFields, paths: AmountPaths = NO_PATHS): Demand {
  // Each file is media, and so are long fields with such a URL; everything else is text.
  let text = form.spool.length
  let [tokens, likely] = [0, 0]
  for (const { size } of form.files) {
    text -= size
    tokens += Math.min(size, MEDIA_TOKENS)
    likely += Math.min(size, LIKELY_MEDIA_TOKENS)
  }
  for (const { name, value } of form.fields) {
    if (value === undefined || value.length <= MIN_MEDIA_BYTES || !isMediaText(name, value)) continue
    text -= value.length
    tokens += MEDIA_TOKENS
    likely += LIKELY_MEDIA_TOKENS
  }
  const input = { tokens: tokens + text, likely: likely + Math.ceil(text / BYTES_PER_TOKEN), links: 0 }
  return demand(input, path => form.value(path.join('.')), paths, form.files)
}

/** The same of a request without a body, or with one that is not read. */
export function demandOfNothing(paths: AmountPaths = NO_PATHS): Demand {
  return demand(NO_INPUT, NOTHING, paths)
}

/** `media`: the whole body, or the files in it. Absent: it is not read. */
function demand(input: InputSize, at: Values, paths: AmountPaths, media?: Buffer | readonly SoundFile[]): Demand {
  const items = largest(paths.items, at)
  const seconds = largest(paths.seconds, at)
  const sound = paths.audio && media !== undefined ? durationOf(media) : SILENCE
  return {
    input: input.tokens,
    likelyInput: input.likely,
    links: input.links,
    output: largest(paths.output, at),
    choices: paths.batch
      ? 1
      : Math.min(MAX_AMOUNT, Math.max(1, largest(paths.choices, at) ?? 1) * Math.max(1, items ?? 1)),
    images: paths.images.length === 0 ? 0 : Math.max(1, largest(paths.images, at) ?? paths.imagesUnsaid ?? 1),
    characters: lengthAt(paths.characters, at),
    requests: paths.batch ? (items ?? 0) : 1,
    searches: isSearched(paths) ? Math.max(1, Math.ceil((items ?? 1) / DOCUMENTS_PER_SEARCH)) : 0,
    seconds: paths.seconds.length === 0 ? 0 : (seconds ?? UNSAID_SECONDS),
    saysSeconds: seconds !== undefined,
    audioSeconds: sound.most,
    likelyAudioSeconds: sound.likely,
  }
}

/** Whether the items are documents: prompts are answered with tokens, and those of a batch are requests. */
function isSearched({ items, output, batch }: AmountPaths): boolean {
  return items.length > 0 && output.length === 0 && !batch
}

/** The same where what is sent says otherwise. `paths`: of the protocol in which it is sent. */
export function demandAsSent(known: Demand, at: Values, paths: AmountPaths): Demand {
  const sent = demand(NO_INPUT, at, paths)
  const says = (of: AmountPaths['output']): boolean => largest(of, at) !== undefined
  return {
    ...known,
    output: sent.output ?? known.output,
    ...((says(paths.choices) || says(paths.items)) && { choices: sent.choices }),
    ...(says(paths.images) && { images: sent.images }),
    ...(sent.characters > 0 && { characters: sent.characters }),
    ...(sent.saysSeconds && { seconds: sent.seconds, saysSeconds: true }),
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

/** Characters of the texts at the paths; a number says how many there are. */
function lengthAt(paths: AmountPaths['characters'], at: Values): number {
  let sum = 0
  for (const path of paths) {
    const value = at(path)
    if (typeof value === 'string') sum += [...value].length
    else if (typeof value === 'number') sum += Math.max(0, value)
  }
  return Math.min(MAX_AMOUNT, Math.ceil(sum))
}

/** What a session is reserved with at a time: it says nothing of what it will take. */
export const SESSION: Demand = {
  input: 16_384,
  likelyInput: 0,
  links: 0,
  output: 16_384,
  choices: 1,
  images: 0,
  characters: 0,
  searches: 0,
  requests: 1,
  seconds: 0,
  saysSeconds: false,
  audioSeconds: 0,
  likelyAudioSeconds: 0,
}
