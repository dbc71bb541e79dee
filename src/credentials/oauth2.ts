import type { OAuthSource } from '../core/credential-source.js'
import { Secret } from '../core/secret.js'
import { ask } from '../net/ask.js'
import type { Egress } from '../net/egress.js'
import { CredentialFault } from '../net/signer.js'
import { signJwt } from './sign-jwt.js'
import { tokenOf } from './token-answer.js'
import type { Fetched } from './token-cache.js'

/** How the gateway reaches what gives it credentials. */
export interface Outside {
  /** For one request, milliseconds. */
  readonly timeoutMs: number
  readonly egress: Egress | undefined
  /** Variables of the environment, by which clouds tell their programs who they are. */
  readonly env: Readonly<Record<string, string | undefined>>
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** The token server checks the assertion at once. */
const ASSERTION_MS = 60_000

/** To the tools of clouds a variable that is empty is one that is not set. */
export function setVariables(env: Outside['env']): Outside['env'] {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
}

/** A token by RFC 6749 §4.4, or by another grant; the client proves itself by §2.3.1, RFC 7523 §2.2 or its certificate. */
export async function fetchOAuthToken(source: OAuthSource, outside: Outside): Promise<Fetched<string>> {
  const { tokenUrl, auth, clientId, secret } = source
  const fields = new URLSearchParams({ grant_type: source.grant })
  for (const [name, value] of Object.entries(source.params)) {
    fields.set(name, value instanceof Secret ? value.reveal() : value)
  }
  if (source.secretField !== undefined) fields.set(source.secretField, secret?.reveal() ?? '')
  const headers: Record<string, string> = {}
  if (auth === 'basic') headers.authorization = basic(clientId, secret?.reveal() ?? '')
  else if (clientId !== '') fields.set('client_id', clientId)
  if (auth === 'body') fields.set('client_secret', secret?.reveal() ?? '')
  if (auth === 'private_key_jwt') {
    fields.set('client_assertion_type', ASSERTION_TYPE)
    fields.set('client_assertion', await assertionFor(source))
  }
  return postForToken(tokenUrl, fields, headers, outside)
}

/** Posts a form to a token server. */
export async function postForToken(
  url: string,
  fields: URLSearchParams,
  headers: Readonly<Record<string, string>>,
  { timeoutMs, egress }: Outside,
): Promise<Fetched<string>> {
  const from = new URL(url).host
  const all = { ...headers, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
  const question = { url, method: 'POST', headers: all, body: fields.toString() }
  return tokenOf(await ask(question, timeoutMs, egress).catch(cause => unreachable(from, cause)), from)
}

/** Throws the fault of a server that cannot be asked. */
export function unreachable(from: string, cause: unknown): never {
  const code = cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause)
  throw new CredentialFault(`${from} cannot be asked: ${code}`)
}

function assertionFor({ clientId, tokenUrl, key }: OAuthSource): Promise<string> {
  if (key === undefined) throw new CredentialFault('private_key_jwt needs a key')
  return signJwt(key, { iss: clientId, sub: clientId, aud: tokenUrl }, ASSERTION_MS)
}

/** Both parts are form-encoded first (RFC 6749 §2.3.1). */
function basic(id: string, secret: string): string {
  const encoded = [id, secret].map(one => encodeURIComponent(one).replace(/%20/g, '+')).join(':')
  return `Basic ${Buffer.from(encoded).toString('base64')}`
}
