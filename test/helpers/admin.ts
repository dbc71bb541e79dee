import type { Test } from 'tap'
import { type Answer, type RequestOptions, request } from './raw-client.js'
import { freePort } from './store-servers.js'

export const ADMIN_SECRET = 'the-key-of-the-admin-0123456789'

/** The `admin:` line of a file, on a port of its own. */
export async function adminLine(more = ''): Promise<{ readonly line: string; readonly origin: string }> {
  const port = await freePort()
  return {
    line: `admin: { port: ${port}, secret: { env: GATEWAY_ADMIN_KEY }${more} }`,
    origin: `http://127.0.0.1:${port}`,
  }
}

/** Members that some answers have; tests say what they expect. */
export interface AdminBody {
  readonly name: string
  readonly secret: string
  readonly next?: string
  readonly warning?: string
  readonly data: readonly AdminBody[]
  readonly error: { readonly type: string; readonly message: string }
  readonly config: { readonly listen: object; readonly upstreams: Readonly<Record<string, object>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}

export interface AdminAnswer extends Answer {
  json(): AdminBody
}

/** Asks the admin API at an origin, with its key. */
export function adminOf(
  t: Test,
  origin: string,
): (method: string, path: string, body?: object) => Promise<AdminAnswer> {
  return (method, path, body) => {
    const options: RequestOptions = { method, key: ADMIN_SECRET, ...(body === undefined ? {} : { body }) }
    return request(t, origin, path, options) as Promise<AdminAnswer>
  }
}
