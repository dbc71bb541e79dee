import { readFile } from 'node:fs/promises'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { VaultConfig, VaultLogin } from '../../core/secret-managers.js'
import { type Answer, ask } from '../../net/ask.js'
import { CredentialFault } from '../../net/signer.js'
import { type Outside, unreachable } from '../oauth2.js'
import { jsonOf, plain } from '../token-answer.js'
import { type Fetched, TokenCache } from '../token-cache.js'
import type { SecretManager } from './manager.js'

/** How long a token without an end is used before the gateway logs in again, milliseconds. */
const LASTING_MS = 60 * 60_000
/** A renewal that gives less than this part of the login's time says that the token comes to its longest life. */
const MIN_RENEWED_SHARE = 0.5
const OK = 200
const FORBIDDEN = 403

/** A token of a login. */
interface Lease extends Fetched<string> {
  readonly isRenewable: boolean
  /** Of the login, milliseconds. */
  readonly lifeMs: number
}

/**
 * Secrets of a Vault server, by its HTTP API: KV of both versions, and what else answers a read with fields.
 * Source: https://developer.hashicorp.com/vault/api-docs
 */
export function openVault(config: VaultConfig, outside: Outside): SecretManager {
  let lease: Lease | undefined
  const token = new TokenCache(async () => {
    lease = await nextLease(config, outside, lease)
    return lease
  })
  const get = (name: string, used: string): Promise<Answer> =>
    call(config, outside, 'GET', pathOf(name), { 'x-vault-token': used })
  return {
    get dueAt() {
      return config.login.by === 'token' ? undefined : token.dueAt
    },
    async read(name) {
      const used = await token.get()
      let answer = await get(name, used)
      // The token may have been revoked before its end, or this path alone is not for it.
      if (answer.status === FORBIDDEN && (await isRevoked(config, outside, used))) {
        if (lease?.value === used) lease = undefined
        if (await token.renew(used)) answer = await get(name, await token.get())
      }
      if (answer.status !== OK) throw refused(config, answer)
      return fieldsOf(jsonOf(answer.text)?.data as Json | undefined, config)
    },
  }
}

/** Where the server does not say so, the token stays: a SecretID may be good for one login. */
async function isRevoked(config: VaultConfig, outside: Outside, token: string): Promise<boolean> {
  const answer = await call(config, outside, 'GET', 'auth/token/lookup-self', { 'x-vault-token': token })
  return answer.status === FORBIDDEN
}

/** Version 2 of KV has the fields one level deeper, beside `metadata`. */
function fieldsOf(data: Json | undefined, { address }: VaultConfig): JsonObject {
  if (!isObject(data)) throw new CredentialFault(`${hostOf(address)} sent no data`)
  return isObject(data.data) && isObject(data.metadata) ? data.data : data
}

/** The same token with more time where that can be had: a SecretID may be good for one login. Otherwise a new one. */
async function nextLease(config: VaultConfig, outside: Outside, last: Lease | undefined): Promise<Lease> {
  const renewed = await renewedLease(config, outside, last)
  if (renewed !== undefined && renewed.expires - Date.now() >= renewed.lifeMs * MIN_RENEWED_SHARE) return renewed
  try {
    return await loggedIn(config, outside)
  } catch (cause) {
    if (renewed !== undefined) return renewed
    throw cause
  }
}

/** Undefined where it is not renewed, for whatever reason: there is the login. */
async function renewedLease(
  config: VaultConfig,
  outside: Outside,
  last: Lease | undefined,
): Promise<Lease | undefined> {
  if (last?.isRenewable !== true || last.expires <= Date.now()) return undefined
  const headers = { 'x-vault-token': last.value }
  try {
    const answer = await call(config, outside, 'POST', 'auth/token/renew-self', headers, {})
    return answer.status === OK ? { ...leaseOf(config, answer), lifeMs: last.lifeMs } : undefined
  } catch {
    return undefined
  }
}

async function loggedIn(config: VaultConfig, outside: Outside): Promise<Lease> {
  const { login } = config
  if (login.by === 'none') throw new CredentialFault(login.reason)
  if (login.by === 'token') {
    const expires = Date.now() + LASTING_MS
    return { value: plain(login.token.reveal(), 'the configuration'), expires, isRenewable: false, lifeMs: LASTING_MS }
  }
  const answer = await call(config, outside, 'POST', `auth/${pathOf(login.mount)}/login`, {}, await proofOf(login))
  if (answer.status !== OK) throw refused(config, answer)
  return leaseOf(config, answer)
}

function leaseOf({ address }: VaultConfig, { text }: Answer): Lease {
  const auth = (jsonOf(text)?.auth ?? {}) as Readonly<Record<string, unknown>>
  const { client_token: token, lease_duration: seconds, renewable } = auth
  const host = hostOf(address)
  if (typeof token !== 'string') throw new CredentialFault(`${host} sent no client_token`)
  const isLasting = !(Number(seconds) > 0)
  const lifeMs = isLasting ? LASTING_MS : Number(seconds) * 1000
  return {
    value: plain(token, host),
    expires: Date.now() + lifeMs,
    isRenewable: renewable === true && !isLasting,
    lifeMs,
  }
}

async function proofOf(login: Exclude<VaultLogin, { readonly by: 'none' | 'token' }>): Promise<object> {
  if (login.by === 'cert') return login.role === undefined ? {} : { name: login.role }
  if (login.by === 'app_role') return { role_id: login.roleId, secret_id: login.secretId.reveal() }
  const jwt = await readFile(login.tokenFile, 'utf8').catch(() => {
    throw new CredentialFault(`the file ${login.tokenFile} of the service account cannot be read`)
  })
  return { role: login.role, jwt: jwt.trim() }
}

function call(
  { address, namespace }: VaultConfig,
  { timeoutMs, egress }: Outside,
  method: string,
  path: string,
  more: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answer> {
  const headers = {
    ...{ accept: 'application/json', 'x-vault-request': 'true', ...more },
    ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const question = { url: `${address}/v1/${path}`, method, headers }
  return ask(body === undefined ? question : { ...question, body: JSON.stringify(body) }, timeoutMs, egress).catch(
    cause => unreachable(hostOf(address), cause),
  )
}

function pathOf(name: string): string {
  const parts = name.replace(/^\/+|\/+$/g, '').split('/')
  if (parts.some(part => /^\.{0,2}$/.test(part))) throw new CredentialFault('its path has an empty or relative part')
  return parts.map(encodeURIComponent).join('/')
}

/** The server's words may quote what was sent, so the status alone is reported. */
function refused({ address }: VaultConfig, { status }: Answer): CredentialFault {
  return new CredentialFault(`${hostOf(address)} answered with status ${status}`)
}

function hostOf(address: string): string {
  return new URL(address).host
}
