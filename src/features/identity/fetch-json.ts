import type { IdentityProvider } from '../../core/identity.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import { NoResponseError, send } from '../../kernel/http-call.js'
import type { Egress } from '../../net/egress.js'
import { GuardedHttp } from '../../net/guarded.js'
import { Blocked } from '../../net/media-url.js'
import { NoAddress } from '../../net/resolve.js'

/** Largest document of an issuer, bytes. */
const MAX_DOCUMENT_BYTES = 512 * 1024
const DEFAULT_PORTS = [443, 80]
const OK = 200

/** Why an issuer gave no document: for the log, never for the client. */
export class IssuerFault extends Error {
  override readonly name = 'IssuerFault'
}

/** A form that is posted, with the login of the gateway where it has one. */
interface PostedForm {
  readonly form: Readonly<Record<string, string>>
  readonly authorization?: string
}

/**
 * Gets a document of an issuer, by the gateway's own way out. Every address is checked, also those that the issuer's own
 * documents name; redirects are not followed. Throws {@link IssuerFault}.
 */
export async function fetchJson(
  url: string,
  provider: IdentityProvider,
  egress: Egress | undefined,
  posted?: PostedForm,
): Promise<JsonObject> {
  const { timeout } = provider
  try {
    const connection = await guardOf(provider, egress).open(url, AbortSignal.timeout(timeout))
    try {
      const body = posted === undefined ? undefined : Buffer.from(new URLSearchParams(posted.form).toString())
      const headers = [...HEADERS, ...headersOf(posted)]
      const request = {
        method: posted === undefined ? 'GET' : 'POST',
        path: connection.target,
        headers,
        ...(body === undefined ? {} : { body }),
      }
      const options = { key: '', queue: 0, connect: timeout, answer: timeout, maxBytes: MAX_DOCUMENT_BYTES }
      const answer = await send(connection, request as never, options)
      if (answer.status !== OK) throw new IssuerFault(`status ${answer.status}`)
      const value = parseJson(answer.body.toString('utf8'))
      if (!isObject(value)) throw new IssuerFault('the answer is not a JSON object')
      return value
    } finally {
      connection.finished()
    }
  } catch (cause) {
    throw faultOf(cause)
  }
}

const HEADERS = ['accept', 'application/json', 'user-agent', 'model-gateway', 'accept-encoding', 'identity']

function headersOf(posted: PostedForm | undefined): readonly string[] {
  if (posted === undefined) return []
  const { authorization } = posted
  const login = authorization === undefined ? [] : ['authorization', authorization]
  return ['content-type', 'application/x-www-form-urlencoded', ...login]
}

/** Ports other than the usual ones: those of the addresses in the file alone. */
function guardOf(provider: IdentityProvider, egress: Egress | undefined): GuardedHttp {
  const { issuer, keys, introspection, allow, timeout: timeoutMs } = provider
  const written = [issuer, ...(keys.from === 'address' ? [keys.url] : []), introspection?.url ?? issuer]
  const urls = written.filter(text => URL.canParse(text)).map(text => new URL(text))
  const ports = [...DEFAULT_PORTS, ...urls.flatMap(({ port }) => (port === '' ? [] : [Number(port)]))]
  const http = urls.some(({ protocol }) => protocol === 'http:')
  return new GuardedHttp({ allow, ports, http, timeoutMs, egress })
}

function faultOf(cause: unknown): Error {
  if (cause instanceof Blocked) return new IssuerFault(`blocked: ${cause.message}`)
  if (cause instanceof NoAddress) return new IssuerFault('its name has no address')
  if (cause instanceof NoResponseError) return new IssuerFault(`no answer: ${cause.condition}`)
  if (cause instanceof Error && (cause.name === 'TimeoutError' || cause.name === 'AbortError')) {
    return new IssuerFault('no answer in time')
  }
  return cause instanceof Error ? cause : new IssuerFault(String(cause))
}
