import { fetchAccess } from '../credentials/aws/access.js'
import { signed } from '../credentials/aws/sign.js'
import { setVariables } from '../credentials/oauth2.js'
import { TokenCache } from '../credentials/token-cache.js'
import type { Egress } from '../net/egress.js'
import { messageOf } from '../runtime/problems.js'
import { SourceFault } from '../runtime/source/fault.js'
import type { Fetch } from '../runtime/source/fetching.js'
import { fetchHttp } from '../runtime/source/http.js'
import { FETCH_TIMEOUT_MS } from '../runtime/source/remote.js'
import { CommandError, type Io } from './io.js'

/** Where the service is not that of a cloud's own region, its name for its only one. */
const ONLY_REGION = 'us-east-1'

interface S3Object {
  readonly bucket: string
  readonly key: string
}

/** `s3://BUCKET/KEY`; undefined where it has another form. */
export function objectOf(address: string): S3Object | undefined {
  const [, bucket, key] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])\/([^?#/][^?#]*)$/.exec(address) ?? []
  return bucket === undefined || key === undefined ? undefined : { bucket, key }
}

/** The URL of an object, by the variables that AWS's own tools read. Throws {@link CommandError}. */
export function urlOfObject({ bucket, key }: S3Object, given: Io['env']): string {
  const env = setVariables(given)
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  const path = key.split('/').map(encoded).join('/')
  if (endpoint !== undefined) {
    if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
      throw new CommandError('the variable AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, is not an address')
    return `${endpoint.replace(/\/+$/, '')}/${bucket}/${path}`
  }
  const host = `s3.${regionOf(env)}.amazonaws.com`
  // The certificate is for one name before that of the service.
  return bucket.includes('.') ? `https://${host}/${bucket}/${path}` : `https://${bucket}.${host}/${path}`
}

/** Objects are asked for with a signature by the access key of the environment, a profile, the container or the machine. */
export function fetchS3(url: string, io: Io, egress: Egress): Fetch {
  const env = setVariables(io.env)
  const outside = { timeoutMs: FETCH_TIMEOUT_MS, egress, env }
  const scope = { service: 's3', region: regionOf(env), payload: 'unsigned' } as const
  const access = new TokenCache(() => fetchAccess({ type: 'aws-sigv4', ...scope }, outside))
  const sign = async (address: string): Promise<Record<string, string>> => {
    const { host, pathname } = new URL(address)
    try {
      const request = { method: 'GET', path: pathname, headers: [], body: null }
      const { headers } = await signed(request, host, await access.get(), scope)
      return Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : [])))
    } catch (error) {
      throw new SourceFault('failed', messageOf(error))
    }
  }
  return (place, tag) => fetchHttp({ ...place, address: url, sign }, tag)
}

function regionOf(env: Io['env']): string {
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION
  if (region !== undefined && /^[a-z0-9-]+$/.test(region)) return region
  if (region === undefined && (env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL) !== undefined) return ONLY_REGION
  throw new CommandError('the variable AWS_REGION does not say in which region the bucket is')
}

/** As the service encodes it for the signature: all but the unreserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}
