import type { Fields } from './fields.js'

/** Values of members that several protocols of the compatible family share (its API reference, state of August 2026). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export const DETAILS = ['low', 'high', 'auto', 'original'] as const
export const LEVELS = ['low', 'medium', 'high'] as const
const RETENTIONS = ['in_memory', 'in-memory', '24h'] as const
const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'] as const

/** Checks the choices that both chat completions and responses offer. Throws where one is none of the listed values. */
export function checkChoices(body: Fields): void {
  body.oneOf('service_tier', TIERS)
  body.oneOf('prompt_cache_retention', RETENTIONS)
  body.fields('prompt_cache_options')?.oneOf('mode', ['implicit', 'explicit'])
}
