import { createHash } from 'node:crypto'
import type { Target } from '../core/codec.js'
import type { Field } from '../core/fields.js'
import { isObject, type Json } from '../core/json.js'
import type { Format, Left, TextRequest, TokenLogprob } from '../core/text.js'
import { approximated } from './field-tables.js'
import { arrayOf, given, numberOf, type Reader } from './read.js'

type Settings = Partial<
  Pick<TextRequest, 'user' | 'safetyId' | 'metadata' | 'serviceTier' | 'cacheKey' | 'cacheRetention' | 'store'>
>

/** What the compatible protocols say of a request in one and the same way. */
export function readSettings(body: Reader): Settings {
  return given({
    user: body.string('user'),
    safetyId: body.string('safety_identifier'),
    metadata: readMetadata(body),
    serviceTier: body.string('service_tier'),
    cacheKey: body.string('prompt_cache_key'),
    cacheRetention: body.string('prompt_cache_retention'),
    store: body.boolean('store'),
  })
}

function readMetadata(body: Reader): Readonly<Record<string, string>> | undefined {
  const metadata = body.object('metadata')
  if (metadata === undefined) return undefined
  const names = Object.keys(metadata.value)
  return names.length === 0 ? undefined : Object.fromEntries(names.map(name => [name, metadata.string(name) ?? '']))
}

/** A JSON Schema for the answer, with its name: `{name, description, schema, strict}`. */
export function readSchemaFormat(format: Reader): Format {
  return {
    type: 'schema',
    schema: format.object('schema')?.value ?? {},
    ...given({
      name: format.string('name'),
      description: format.string('description'),
      strict: format.boolean('strict'),
    }),
  }
}

const VERBOSITIES = ['low', 'medium', 'high'] as const

export function readVerbosity(holder: Reader, left: Left[]): TextRequest['verbosity'] {
  return readWord(holder, 'verbosity', VERBOSITIES, left)
}

/** One of some words; another one is left. */
export function readWord<W extends string>(
  reader: Reader,
  name: string,
  words: readonly W[],
  left: Left[],
): W | undefined {
  const value = reader.raw(name)
  if (value === undefined) return undefined
  const word = words.find(word => word === value)
  if (word === undefined) left.push({ field: reader.path(name), why: `it is not one of ${words.join(', ')}` })
  return word
}

const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast']

/** The tier in the words of the compatible protocols; other protocols' word for the one that is nothing special is theirs alone. */
export function writeTier(tier: string | undefined): string | undefined {
  const word = tier?.toLowerCase()
  if (word === 'unspecified') return 'auto'
  return word === 'standard' || word === 'standard_only' ? 'default' : tier
}

/** The tier that an answer tells of; undefined for those that these protocols do not know. */
export function answeredTier(tier: string | undefined): string | undefined {
  const word = writeTier(tier)?.toLowerCase()
  return word !== undefined && TIERS.includes(word) ? word : undefined
}

/** Log probabilities as the compatible protocols list them; undefined where there are none. */
export function readLogprobs(value: Json | undefined): TokenLogprob[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const read = (value as readonly Json[]).flatMap(entry => {
    const token = readToken(entry)
    if (token === undefined) return []
    const top = arrayOf(isObject(entry) ? entry.top_logprobs : undefined).flatMap(other => readToken(other) ?? [])
    return [top.length > 0 ? { ...token, top } : token]
  })
  return read.length > 0 ? read : undefined
}

function readToken(value: Json | undefined): Omit<TokenLogprob, 'top'> | undefined {
  if (!isObject(value) || typeof value.token !== 'string') return undefined
  const { token, bytes } = value
  const logprob = numberOf(value.logprob)
  if (logprob === undefined) return undefined
  const numbers = Array.isArray(bytes) ? bytes.filter(byte => typeof byte === 'number') : undefined
  return numbers === undefined ? { token, logprob } : { token, logprob, bytes: numbers }
}

/** A sampling parameter; lost if the model refuses those. */
export function sampled(field: Field, value: number | undefined, target: Target): number | undefined {
  if (value === undefined || target.traits.sampling !== false) return value
  target.lose(field, undefined, 'the model refuses sampling parameters')
  return undefined
}

/** Longest name of an end user that the compatible protocols take, in characters. */
const MAX_USER_CHARS = 64
/** What becomes of such a name. */
export const USER_CARRY = approximated(`as a SHA-256 if it is longer than ${MAX_USER_CHARS} characters`)

/** A name of the end user as the compatible protocols take it: what is too long becomes its digest. */
export function userName(field: 'user' | 'safetyId', name: string | undefined, target: Target): string | undefined {
  return name === undefined || name.length <= MAX_USER_CHARS ? name : userDigest(field, name, target)
}

/** Names the same end user in every request: 64 hexadecimal digits. */
export function userDigest(field: 'user' | 'safetyId', name: string, target: Target): string {
  target.lose(field)
  return createHash('sha256').update(name).digest('hex')
}

/** The name of a schema: at most 64 letters, digits, dashes and underscores. */
export function schemaName(name: string | undefined): string {
  return (name ?? 'answer').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'answer'
}
