import type { JsonObject } from '../json.js'
import type { Seed } from '../seed.js'
import { textForPattern } from './pattern.js'
import { bound } from './settle.js'

const MAX_STRING_CHARS = 2000
const WORDS = ['alpha', 'bravo', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'harbour', 'island', 'juniper'] as const

const FORMATS: ReadonlyMap<string, (seed: Seed) => string> = new Map([
  ['date', seed => moment(seed).slice(0, 10)],
  ['time', seed => moment(seed).slice(11)],
  ['date-time', seed => moment(seed)],
  ['duration', seed => `PT${1 + seed.below(59)}M`],
  ['email', seed => `${seed.pick(WORDS)}@example.com`],
  ['hostname', seed => `${seed.pick(WORDS)}.example.com`],
  ['ipv4', seed => `192.0.2.${1 + seed.below(254)}`],
  ['ipv6', seed => `2001:db8::${1 + seed.below(9)}`],
  ['uuid', uuid],
  ['uri', seed => `https://example.com/${seed.pick(WORDS)}`],
  ['uri-reference', seed => `/${seed.pick(WORDS)}`],
])

/** A string for a schema: its pattern as far as that is simple, else its format, else a word, all within its lengths. */
export function stringFor(schema: JsonObject, seed: Seed): string {
  const { pattern, format } = schema
  const least = Math.min(bound(schema.minLength, 0), MAX_STRING_CHARS)
  const most = Math.min(bound(schema.maxLength, MAX_STRING_CHARS), MAX_STRING_CHARS)
  const patterned = typeof pattern === 'string' ? textForPattern(pattern, seed, least) : undefined
  if (patterned !== undefined) return patterned
  const formatted = typeof format === 'string' ? FORMATS.get(format)?.(seed) : undefined
  return (
    formatted ??
    seed
      .pick(WORDS)
      .padEnd(least, ` ${WORDS.join(' ')}`)
      .slice(0, most)
  )
}

function moment(seed: Seed): string {
  return `${new Date(seed.created() * 1000).toISOString().slice(0, 19)}Z`
}

/** Version 4 as RFC 9562 writes it; its random bits come from the seed. */
function uuid(seed: Seed): string {
  const hex = seed.hex(32)
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20)].join('-')
}
