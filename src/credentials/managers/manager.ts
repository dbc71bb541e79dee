import type { JsonObject } from '../../core/json.js'
import { CredentialFault } from '../../net/signer.js'
import { jsonOf } from '../token-answer.js'

/** Longest secret, characters. */
const MAX_SECRET_CHARS = 64 * 1024
const MAX_NAMED_FIELDS = 8

/** Reads what a secret manager keeps: a text, or named fields. Rejects with {@link CredentialFault}. */
export interface SecretManager {
  read(name: string): Promise<string | JsonObject>
  /** When its login is near its end, milliseconds since the epoch: a read renews it then. */
  readonly dueAt?: number | undefined
}

/** The secret in what a manager keeps: a field, the only one, or the whole text. Throws {@link CredentialFault}. */
export function secretIn(kept: string | JsonObject, field: string | undefined): string {
  const value = typeof kept === 'string' && field === undefined ? kept : fieldOf(kept, field)
  const text = value.replace(/(?<![\r\n])[\r\n]+$/, '')
  if (text.trim() === '') throw new CredentialFault('it is empty')
  if (text.length > MAX_SECRET_CHARS) throw new CredentialFault(`it has more than ${MAX_SECRET_CHARS} characters`)
  return text
}

function fieldOf(kept: string | JsonObject, field: string | undefined): string {
  const fields = typeof kept === 'string' ? jsonOf(kept) : kept
  if (fields === undefined) throw new CredentialFault('it is not JSON, so it has no fields')
  const names = Object.keys(fields)
  const [name] = field === undefined && names.length === 1 ? names : [field]
  if (name === undefined) {
    throw new CredentialFault(`name one of its fields with field: ${names.slice(0, MAX_NAMED_FIELDS).join(', ')}`)
  }
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (typeof value !== 'string') throw new CredentialFault(`it has no field ${name} with a text`)
  return value
}
