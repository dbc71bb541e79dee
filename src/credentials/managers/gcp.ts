import { isObject, type Json } from '../../core/json.js'
import type { GcpManagerConfig } from '../../core/secret-managers.js'
import { ask } from '../../net/ask.js'
import { CredentialFault } from '../../net/signer.js'
import { fetchGcpToken } from '../gcp.js'
import { type Outside, unreachable } from '../oauth2.js'
import { jsonOf } from '../token-answer.js'
import { TokenCache } from '../token-cache.js'
import type { SecretManager } from './manager.js'

const NAME = /^projects\/([\w.:-]+)\/secrets\/([\w-]+)(?:\/versions\/([\w-]+))?$/
const OK = 200

/**
 * Secrets of Google Cloud's Secret Manager: versions.access.
 * Source: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
 */
export function openGcpManager({ source, endpoint }: GcpManagerConfig, outside: Outside): SecretManager {
  const { timeoutMs, egress } = outside
  const token = new TokenCache(() => fetchGcpToken(source, outside))
  const { host } = new URL(endpoint)
  return {
    async read(name) {
      const [, project, secret, version = 'latest'] = NAME.exec(name) ?? []
      if (project === undefined) throw new CredentialFault('expected a name such as projects/PROJECT/secrets/NAME')
      const url = `${endpoint}/v1/projects/${project}/secrets/${secret}/versions/${version}:access`
      const headers = { accept: 'application/json', authorization: `Bearer ${await token.get()}` }
      const question = { url, method: 'GET', headers }
      const { status, text } = await ask(question, timeoutMs, egress).catch(cause => unreachable(host, cause))
      if (status !== OK) throw new CredentialFault(`${host} answered with status ${status}`)
      const payload = jsonOf(text)?.payload as Json | undefined
      if (!isObject(payload) || typeof payload.data !== 'string') throw new CredentialFault(`${host} sent no payload`)
      return Buffer.from(payload.data, 'base64').toString('utf8')
    },
  }
}
