import { createHash } from 'node:crypto'
import type { UpstreamConfig } from '../core/config.js'
import { credentialReference } from './credential.js'

const DEFINITION_DIGITS = 12

/** A reload keeps the objects of what has not changed. */
const known = new WeakMap<UpstreamConfig, string>()

/** A digest of what decides how requests fare there: the address, the way to it, the credential, and what is sent. */
export function definitionOf(name: string, config: UpstreamConfig): string {
  const found = known.get(config)
  if (found !== undefined) return found
  const { base, credential, otherSecrets = [], headers, forward, speaks, timeouts, request, response, traits } = config
  const secrets = [credential?.secret ?? [], otherSecrets].flat().map(one => credentialReference(name, one))
  const sent = { base, credential, secrets, headers, forward, speaks, timeouts, request, response, traits }
  const { egress, recordings } = config
  const text = JSON.stringify({ ...sent, egress, recordings })
  const definition = createHash('sha256').update(text).digest('hex').slice(0, DEFINITION_DIGITS)
  known.set(config, definition)
  return definition
}
