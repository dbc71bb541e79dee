import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { UpstreamRequest } from '../../transport/client/handler.js'

/** An access key of the moment. */
export interface AwsAccess {
  readonly id: string
  readonly secret: string
  readonly session?: string
}

interface Scope {
  readonly service: string
  readonly region: string
  readonly payload: 'signed' | 'unsigned'
  /** Another header that it covers, in lower case. */
  readonly covers?: string
}

const HASH_HEADER = 'x-amz-content-sha256'
/** Parameters of clients that would take part in the signature instead of being signed, or that the library loses. */
const UNSIGNABLE = /^(?:x-amz-|__proto__$)/i

/**
 * The request with a signature of Signature Version 4 in its headers. It covers method, path, query, host, the body's type, the
 * provider's own headers, and the body, unless that is left out. A body that is a stream cannot be covered.
 */
export async function signed(
  request: UpstreamRequest,
  host: string,
  access: AwsAccess,
  { service, region, payload, covers }: Scope,
  date = new Date(),
): Promise<UpstreamRequest> {
  const { SignatureV4 } = await import('@smithy/signature-v4')
  const { method, path, headers, body } = request
  // This service alone has the path covered as it is sent, and wants the digest of the body in a header.
  const isStorage = service === 's3'
  const credentials = credentialsOf(access)
  const options = { service, region, sha256: Sha256, applyChecksum: isStorage, uriEscapePath: !isStorage, credentials }
  const signer: Signer = new SignatureV4(options as never) as never
  const [pathname = '/', search = ''] = cut(path)
  const query = new URLSearchParams(search)
  const unsignable = [...query.keys()].filter(name => UNSIGNABLE.test(name))
  for (const name of unsignable) query.delete(name)
  const given = coveredHeaders(headers, host, covers)
  const covered = payload === 'signed' && (body === null || body instanceof Uint8Array)
  if (!covered) given[HASH_HEADER] = 'UNSIGNED-PAYLOAD'
  const bytes = covered && body instanceof Uint8Array ? { body } : {}
  const url = {
    method,
    protocol: 'https:',
    hostname: host,
    path: pathname,
    query: queryOf(query),
    headers: given,
    ...bytes,
  }
  const result = await signer.sign(url, { signingDate: date })
  const added = Object.entries(result.headers).filter(([name]) => given[name.toLowerCase()] === undefined)
  if (!covered) added.push([HASH_HEADER, 'UNSIGNED-PAYLOAD'])
  const sent = unsignable.length === 0 ? path : `${pathname}?${query}`
  return { method, path: sent, headers: [...headers, ...added.flat()], body }
}

/** The part of the library that is used. */
interface Signer {
  sign(request: object, options: object): Promise<{ readonly headers: Readonly<Record<string, string>> }>
}

/** The host, the type of the body and the provider's own headers: proxies may change others. */
function coveredHeaders(headers: readonly string[], host: string, covers: string | undefined): Record<string, string> {
  const given: Record<string, string> = { host }
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase()
    const value = headers[at + 1] ?? ''
    if (name !== 'content-type' && name !== covers && !name.startsWith('x-amz-')) continue
    given[name] = given[name] === undefined ? value : `${given[name]},${value}`
  }
  return given
}

function credentialsOf({ id, secret, session }: AwsAccess): object {
  return { accessKeyId: id, secretAccessKey: secret, ...(session === undefined ? {} : { sessionToken: session }) }
}

function cut(path: string): readonly string[] {
  const mark = path.indexOf('?')
  return mark < 0 ? [path] : [path.slice(0, mark), path.slice(mark + 1)]
}

function queryOf(parameters: URLSearchParams): Record<string, string | string[]> {
  // Names are the client's: `constructor` is one like any other.
  const query: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of parameters) {
    const known = query[name]
    query[name] = known === undefined ? value : [known, value].flat()
  }
  return query
}

/** What the library hashes with. */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as string)
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    throw new Error('not used')
  }
}
