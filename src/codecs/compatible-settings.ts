import type { Format, Left, TextRequest } from '../core/text.js'
import { given } from './members.js'
import type { Reader } from './read.js'

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
