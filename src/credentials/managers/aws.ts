import type { AwsManagerConfig } from '../../core/secret-managers.js'
import { ask } from '../../net/ask.js'
import { CredentialFault } from '../../net/signer.js'
import { fetchAccess } from '../aws/access.js'
import { signed } from '../aws/sign.js'
import { type Outside, unreachable } from '../oauth2.js'
import { jsonOf } from '../token-answer.js'
import { TokenCache } from '../token-cache.js'
import type { SecretManager } from './manager.js'

const OK = 200

/**
 * Secrets of AWS Secrets Manager: GetSecretValue.
 * Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
export function openAwsManager({ source, endpoint }: AwsManagerConfig, outside: Outside): SecretManager {
  const { timeoutMs, egress } = outside
  const region = source?.region ?? ''
  const url = new URL(endpoint ?? `https://secretsmanager.${region}.amazonaws.com/`)
  const access = new TokenCache(async () => {
    if (source === undefined) throw new CredentialFault('the secret access key of secret_managers.aws is not there')
    return fetchAccess(source, outside)
  })
  return {
    async read(name) {
      const body = JSON.stringify({ SecretId: name })
      const headers = ['content-type', 'application/x-amz-json-1.1', 'x-amz-target', 'secretsmanager.GetSecretValue']
      const request = { method: 'POST', path: url.pathname, headers, body: Buffer.from(body) }
      const scope = { service: 'secretsmanager', region, payload: 'signed' } as const
      const { headers: flat } = await signed(request, url.host, await access.get(), scope)
      const question = { url: url.href, method: 'POST', headers: named(flat), body }
      const { status, text } = await ask(question, timeoutMs, egress).catch(cause => unreachable(url.host, cause))
      const { SecretString, SecretBinary, __type: code } = jsonOf(text) ?? {}
      if (status !== OK) throw new CredentialFault(`${url.host} answered with status ${status}${codeText(code)}`)
      if (typeof SecretString === 'string') return SecretString
      if (typeof SecretBinary === 'string') return Buffer.from(SecretBinary, 'base64').toString('utf8')
      throw new CredentialFault(`${url.host} sent no secret`)
    },
  }
}

/** `com.amazonaws.…#ResourceNotFoundException`. */
function codeText(code: unknown): string {
  const name = typeof code === 'string' ? /\w{1,80}$/.exec(code)?.[0] : undefined
  return name === undefined ? '' : ` (${name})`
}

function named(flat: readonly string[]): Record<string, string> {
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])))
}
