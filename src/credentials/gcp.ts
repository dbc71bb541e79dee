import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GcpSource } from '../core/credential-source.js'
import { isObject } from '../core/json.js'
import { settingsFolder } from '../core/platform.js'
import { Secret } from '../core/secret.js'
import { ask } from '../net/ask.js'
import { CredentialFault } from '../net/signer.js'
import { type Document, safeUrl, subjectToken, textOf } from './gcp-subject.js'
import { guardedAddress } from './guarded-address.js'
import { type Outside, postForToken, unreachable } from './oauth2.js'
import { signJwt } from './sign-jwt.js'
import { jsonOf, plain, timeOf, tokenOf } from './token-answer.js'
import type { Fetched } from './token-cache.js'

const METADATA_PATH = '/computeMetadata/v1/instance/service-accounts/default/token'
const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const PLATFORM_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const ASSERTION_MS = 60 * 60_000
const MAX_FILE_BYTES = 64 * 1024

/**
 * A Google access token by the file of credentials, or where there is none by application default credentials: the file that
 * `GOOGLE_APPLICATION_CREDENTIALS` names, the one of the command-line tool, the metadata server. Files are read each time, so
 * that a new key needs no restart. Source: https://google.aip.dev/auth/4110
 */
export async function fetchGcpToken(source: GcpSource, outside: Outside): Promise<Fetched<string>> {
  const document = await credentialsOf(source, outside)
  if (document === undefined) return fromMetadata(source, outside)
  if (document.type !== 'impersonated_service_account') return tokenFor(document, source.scopes, outside)
  const own = document.source_credentials
  if (!isObject(own as never)) throw new CredentialFault('the file of credentials has no source_credentials')
  const token = await tokenFor(own as Document, [PLATFORM_SCOPE], outside)
  return impersonated(document, token, source.scopes, outside)
}

async function tokenFor(document: Document, scopes: readonly string[], outside: Outside): Promise<Fetched<string>> {
  switch (document.type) {
    case 'service_account':
      return byServiceAccount(document, scopes, outside)
    case 'authorized_user':
      return byRefreshToken(document, outside)
    case 'external_account':
      return byFederation(document, scopes, outside)
    default:
      throw new CredentialFault(
        'the file of credentials has no known type: expected service_account, authorized_user, external_account, or impersonated_service_account of one of these',
      )
  }
}

/** Undefined: there is no file. */
async function credentialsOf({ file }: GcpSource, { env }: Outside): Promise<Document | undefined> {
  const named = file ?? env.GOOGLE_APPLICATION_CREDENTIALS
  const defaultFile = join(settingsFolder('gcloud', env), 'application_default_credentials.json')
  const text = await readFile(named ?? defaultFile, 'utf8').catch(() => undefined)
  if (text === undefined && named === undefined) return undefined
  const document = text === undefined || text.length > MAX_FILE_BYTES ? undefined : jsonOf(text)
  if (document === undefined)
    throw new CredentialFault(`the file of credentials ${named ?? defaultFile} cannot be read as JSON`)
  return document
}

async function fromMetadata({ scopes }: GcpSource, { timeoutMs, env }: Outside): Promise<Fetched<string>> {
  const named = env.GCE_METADATA_HOST ?? 'metadata.google.internal'
  const { host, origin } = guardedAddress(`http://${named}`, 'GCE_METADATA_HOST')
  const url = `${origin}${METADATA_PATH}?scopes=${encodeURIComponent(scopes.join(','))}`
  const question = { url, method: 'GET', headers: { 'metadata-flavor': 'Google' } }
  // It is on this machine: no proxy reaches it.
  return tokenOf(await ask(question, timeoutMs, undefined).catch(cause => unreachable(host, cause)), host)
}

/** RFC 7523 §2.1. */
async function byServiceAccount(
  document: Document,
  scopes: readonly string[],
  outside: Outside,
): Promise<Fetched<string>> {
  const url = safeUrl(document.token_uri ?? TOKEN_URL, 'token_uri')
  const id = typeof document.private_key_id === 'string' ? { id: document.private_key_id } : {}
  const key = { algorithm: 'RS256', key: new Secret(textOf(document, 'private_key')), ...id }
  const claims = { iss: textOf(document, 'client_email'), scope: scopes.join(' '), aud: url }
  const assertion = await signJwt(key, claims, ASSERTION_MS)
  const fields = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  return postForToken(url, fields, {}, outside)
}

function byRefreshToken(document: Document, outside: Outside): Promise<Fetched<string>> {
  const fields = new URLSearchParams({ grant_type: 'refresh_token' })
  for (const name of ['client_id', 'client_secret', 'refresh_token']) fields.set(name, textOf(document, name))
  return postForToken(safeUrl(document.token_uri ?? TOKEN_URL, 'token_uri'), fields, {}, outside)
}

/** Workload identity federation: a token of another provider for one of Google's (RFC 8693), and that for a service account's. */
async function byFederation(document: Document, scopes: readonly string[], outside: Outside): Promise<Fetched<string>> {
  const impersonation = document.service_account_impersonation_url
  const scope = impersonation === undefined ? scopes.join(' ') : PLATFORM_SCOPE
  const fields = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: textOf(document, 'audience'),
    scope,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: textOf(document, 'subject_token_type'),
    subject_token: await subjectToken(document, outside),
  })
  const token = await postForToken(safeUrl(document.token_url, 'token_url'), fields, {}, outside)
  return impersonation === undefined ? token : impersonated(document, token, scopes, outside)
}

/** A token of the service account that the document names, for one that may act as it, by way of its `delegates`. */
async function impersonated(
  { service_account_impersonation_url: address, delegates }: Document,
  token: Fetched<string>,
  scopes: readonly string[],
  outside: Outside,
): Promise<Fetched<string>> {
  const url = safeUrl(address, 'service_account_impersonation_url')
  const headers = { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' }
  const question = { url, method: 'POST', headers, body: JSON.stringify({ scope: scopes, delegates }) }
  const { host } = new URL(url)
  const { timeoutMs, egress } = outside
  const answer = await ask(question, timeoutMs, egress).catch(cause => unreachable(host, cause))
  const { accessToken, expireTime } = jsonOf(answer.text) ?? {}
  const expires = timeOf(expireTime)
  if (answer.status !== 200 || typeof accessToken !== 'string' || expires === undefined) {
    throw new CredentialFault(`${host} answered with status ${answer.status} and no accessToken`)
  }
  return { value: plain(accessToken, host), expires }
}
