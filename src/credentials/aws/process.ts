import { CredentialFault } from '../../net/signer.js'
import { outputOf, wordsOf } from '../exec.js'
import { jsonOf, timeOf } from '../token-answer.js'
import type { Fetched } from '../token-cache.js'
import type { AwsAccess } from './sign.js'

/** How long a key counts as valid if the command does not say. */
const DEFAULT_LIFE_MS = 60 * 60_000

/**
 * The key that the command of a profile prints.
 * Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
 */
export async function accessByProcess(command: string, timeoutMs: number): Promise<Fetched<AwsAccess>> {
  const words = wordsOf(command)
  const document = jsonOf(await outputOf(words, timeoutMs))
  const { Version, AccessKeyId: id, SecretAccessKey: secret, SessionToken: session, Expiration } = document ?? {}
  if (Version !== 1 || typeof id !== 'string' || typeof secret !== 'string')
    throw new CredentialFault(`the credential_process ${words[0]} printed no access key (Version 1)`)
  const value = { id, secret, ...(typeof session === 'string' && { session }) }
  return { value, expires: timeOf(Expiration) ?? Date.now() + DEFAULT_LIFE_MS }
}
