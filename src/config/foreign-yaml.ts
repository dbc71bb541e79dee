import { parseDocument } from 'yaml'
import type { Json } from '../core/json.js'

/** Most aliases that a document of others may have its anchors repeated by. */
const MAX_ALIASES = 1000

/**
 * A YAML document of another program's: by YAML 1.1, as older libraries write it, with `!binary` for bytes. Bytes become
 * `{ base64 }`. Throws where its syntax is broken.
 */
export function parseForeignYaml(text: string): Json {
  const document = parseDocument(text, {
    version: '1.1',
    customTags: tags => [...tags, { tag: '!binary', resolve: (value: string) => Buffer.from(value, 'base64') }],
    logLevel: 'error',
    strict: false,
    uniqueKeys: false,
  })
  const [fault] = document.errors
  if (fault !== undefined) throw new Error(fault.message.split('\n')[0])
  return plain(document.toJS({ maxAliasCount: MAX_ALIASES }))
}

function plain(value: unknown): Json {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') }
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]))
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}
