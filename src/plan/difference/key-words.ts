import { hash } from 'node:crypto'
import type { GroupConfig } from '../../core/accounting-config.js'
import type { KeyConfig } from '../../core/config.js'
import type { KeySecret } from '../../core/process-config.js'
import { boundWords } from './bound-words.js'
import { SECRET, type Words } from './words.js'

/** What a key or a group says beside its models' targets. */
export function keyWords(entry: KeyConfig | GroupConfig): Words {
  const { group, models, routes, networks, regions, priority, limits } = entry
  const words = new Map(boundWords(limits, 'strict' in entry && entry.strict))
  for (const [name, list] of Object.entries({ models, routes, networks, regions })) {
    if (list !== undefined) words.set(name, [...list].join(', '))
  }
  if (group !== undefined) words.set('group', group)
  if (priority !== undefined) words.set('priority', priority)
  if (!('secrets' in entry)) return words
  const { secrets, expires, disabled, expose, generations, capture, trace } = entry
  if (expires !== undefined) words.set('expires', new Date(expires).toISOString())
  if (disabled) words.set('disabled', 'yes')
  if (expose !== undefined) words.set('expose', expose.join(', '))
  if (generations !== undefined) words.set('generations', generations)
  if (capture !== undefined) words.set('capture', JSON.stringify(capture))
  if (trace !== undefined) words.set('trace', JSON.stringify(trace))
  words.set(SECRET, secrets.map(identityOf).sort().join(' '))
  return words
}

/** Tells secrets apart; reports say only that they differ. */
function identityOf(secret: KeySecret): string {
  if (secret.type === 'generated') return 'generated'
  return secret.type === 'digest' ? secret.sha256 : hash('sha256', secret.secret.reveal())
}
