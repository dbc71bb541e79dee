import { NoResponseError, send } from '../../kernel/http-call.js'
import { GuardedHttp } from '../../net/guarded.js'
import { Blocked } from '../../net/media-url.js'
import { NoAddress } from '../../net/resolve.js'
import { CommandError, EXIT, printable } from '../io.js'

const TIMEOUT_MS = 60_000
const MAX_REDIRECTS = 3
const HEADERS = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'model-gateway']

/** A file at an address that an answer names: of a public host, also where it redirects to. Throws {@link CommandError}. */
export async function publicFile(address: string, maxBytes: number): Promise<Buffer> {
  const guard = new GuardedHttp({ allow: ['*'], http: true, timeoutMs: TIMEOUT_MS })
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    let place: Place = { address }
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const found = await fetchOnce(guard, place, maxBytes, signal)
      if (Buffer.isBuffer(found)) return found
      place = found
    }
  } catch (cause) {
    throw cause instanceof CommandError ? cause : new CommandError(faultOf(cause, address), EXIT.failed)
  }
  throw new CommandError(`the image's address redirects more than ${MAX_REDIRECTS} times`, EXIT.failed)
}

interface Place {
  readonly address: string
  /** Where it was named, if it is relative. */
  readonly base?: URL
}

/** The file, or where else it is. */
async function fetchOnce(
  guard: GuardedHttp,
  { address, base }: Place,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer | Place> {
  const connection = await guard.open(address, signal, base)
  try {
    const request = { method: 'GET', path: connection.target, headers: [...HEADERS], body: null }
    const options = { key: '', queue: 0, connect: TIMEOUT_MS, answer: TIMEOUT_MS, maxBytes, signal }
    const { status, headers, body } = await send(connection, request, options)
    if (status === 200) return body
    const { location } = headers
    if (status >= 300 && status < 400 && typeof location === 'string')
      return { address: location, base: connection.url }
    throw new CommandError(`the image's address answered ${status}`, EXIT.failed)
  } finally {
    connection.finished()
  }
}

function faultOf(cause: unknown, address: string): string {
  const shown = printable(address)
  if (cause instanceof NoAddress) return `the host of the image has no address: ${shown}`
  if (cause instanceof Blocked)
    return `the image is not fetched, because its address is not a public one (${cause.message}): ${shown}`
  const why = cause instanceof NoResponseError || cause instanceof Error ? cause.message : String(cause)
  return `the image cannot be fetched (${why}): ${shown}`
}
