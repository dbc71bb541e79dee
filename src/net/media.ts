import { isOutOfDescriptors, outOfDescriptors } from '../core/descriptors.js'
import { GatewayError } from '../core/errors.js'
import type { Egress } from './egress.js'
import { guardedClient } from './guarded.js'
import { HEAD_BYTES, MEDIA_TYPES, mediaTypeOf, sniff } from './media-type.js'
import { Blocked, MediaGuard, type MediaRules } from './media-url.js'
import { addressesOf, type ResolvedAddress } from './resolve.js'

interface MediaOptions extends MediaRules {
  /** Most bytes of one document. */
  readonly maxBytes: number
  /** Most bytes of all documents of one request. */
  readonly maxTotal: number
  /** Maximum number of documents of one request. */
  readonly maxCount: number
  /** Milliseconds for one document, with all its redirects. */
  readonly timeoutMs: number
  readonly maxRedirects: number
  /** Accepted media types, of those recognized by their bytes; all of them by default. */
  readonly types?: readonly string[]
  /** Finds the addresses of a host, asked once for each hop. Default: as the system does. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>
}

interface Media {
  readonly mime: string
  readonly bytes: Buffer
}

/** A URL that a client sent, and its position in the body: `messages[0].content[1].image_url.url`. */
interface WantedMedia {
  readonly url: string
  readonly at?: string
}

/** What has been fetched. */
export interface Fetched {
  readonly count: number
  readonly bytes: number
}

const NONE: Fetched = { count: 0, bytes: 0 }
/** Maximum documents of one request that are fetched at the same time. */
const MAX_CONCURRENT_FETCHES = 4
const REDIRECTS = [301, 302, 303, 307, 308]
const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'model-gateway' }

/**
 * Fetches media that clients name by URL, for upstreams that only accept bytes. Every hop is checked before a
 * connection is made: the URL, then every address of its host. The connection goes to the checked addresses, even if
 * the name resolves to others by then. No part of the client's request is sent. Errors are `invalid_parameter` at the
 * URL's position, and reveal nothing about the host.
 */
export class MediaFetcher {
  readonly #guard: MediaGuard
  readonly #options: MediaOptions
  readonly #types: readonly string[]

  constructor(options: MediaOptions) {
    this.#guard = new MediaGuard(options)
    this.#options = options
    this.#types = options.types ?? MEDIA_TYPES
  }

  /**
   * All documents of a request, in order; one URL is fetched once. `earlier` counts documents and bytes that have been
   * fetched for the same request; connections leave by `egress`.
   */
  async fetchAll(
    wanted: readonly WantedMedia[],
    signal?: AbortSignal,
    earlier = NONE,
    egress?: Egress,
  ): Promise<readonly Media[]> {
    const { maxCount, maxTotal } = this.#options
    const urls = new Map(wanted.map(part => [part.url, part]))
    const [first] = wanted
    if (urls.size + earlier.count > maxCount)
      throw refused(first, `more than ${maxCount} URLs would have to be fetched`)
    const budget = { left: maxTotal - earlier.bytes, egress }
    const stop = new AbortController()
    const all = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
    const found = new Map<string, Media>()
    const waiting = [...urls.values()]
    const work = async (): Promise<void> => {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift())
        found.set(part.url, await this.one(part, all, budget))
    }
    try {
      await Promise.all(Array.from({ length: MAX_CONCURRENT_FETCHES }, work))
    } finally {
      stop.abort()
    }
    return wanted.flatMap(({ url }) => found.get(url) ?? [])
  }

  async fetch(url: string, signal?: AbortSignal): Promise<Media> {
    const [media] = await this.fetchAll([{ url }], signal)
    if (media === undefined) throw new GatewayError('internal', 'Nothing was fetched.')
    return media
  }

  private async one(part: WantedMedia, signal: AbortSignal, budget: Budget): Promise<Media> {
    const time = AbortSignal.timeout(this.#options.timeoutMs)
    const both = AbortSignal.any([signal, time])
    try {
      return await this.follow(part, both, budget)
    } catch (error) {
      if (error instanceof GatewayError) throw error
      if (isOutOfDescriptors(error)) throw outOfDescriptors(error)
      if (time.aborted) throw refused(part, 'it took too long', error)
      if (signal.aborted) throw new GatewayError('client_gone', 'The client disconnected.', { cause: error })
      if (error instanceof Blocked) throw refused(part, 'it may not be fetched', error)
      throw refused(part, 'it could not be fetched', error)
    }
  }

  private async follow(part: WantedMedia, signal: AbortSignal, budget: Budget): Promise<Media> {
    let url = this.#guard.url(part.url)
    for (let hop = 0; hop <= this.#options.maxRedirects; hop++) {
      const answer = await this.hop(part, url, signal, budget)
      if (!('location' in answer)) return answer
      url = this.#guard.url(answer.location, url)
    }
    throw refused(part, 'it redirects too often')
  }

  private async hop(
    part: WantedMedia,
    url: URL,
    signal: AbortSignal,
    budget: Budget,
  ): Promise<Media | { readonly location: string }> {
    const addresses = await addressesOf(url, signal, this.#options.resolve)
    this.#guard.addresses(
      url,
      addresses.map(({ address }) => address),
    )
    const { timeoutMs, maxBytes } = this.#options
    const client = guardedClient(url, addresses, timeoutMs, budget.egress)
    try {
      const { statusCode, headers, body } = await client.request({
        method: 'GET',
        path: url.pathname + url.search,
        headers: HEADERS,
        signal,
      })
      // The body is cut off with the client below; no one needs its error.
      body.on('error', () => undefined)
      const { location } = headers
      if (REDIRECTS.includes(statusCode) && typeof location === 'string') return { location }
      if (statusCode !== 200) throw refused(part, 'its server did not return a document')
      const type = this.check(part, headers)
      const length = Number(headers['content-length'] ?? 0)
      if (length > maxBytes || length > budget.left) throw refused(part, 'it is too large')
      return await this.read(part, body, budget, type)
    } finally {
      client.destroy().catch(() => undefined)
    }
  }

  private check(part: WantedMedia, headers: Headers): string {
    const encoding = headers['content-encoding']
    // It was asked for plain; what comes packed may unpack to anything.
    if (encoding !== undefined && encoding !== 'identity') throw refused(part, 'its server sent it compressed')
    const written = headers['content-type']
    const type = mediaTypeOf(typeof written === 'string' ? written : undefined)
    if (type === undefined || (type !== '' && !this.#types.includes(type)))
      throw refused(part, `it is not one of ${this.#types.join(', ')}`)
    return type
  }

  private async read(part: WantedMedia, body: AsyncIterable<Buffer>, budget: Budget, type: string): Promise<Media> {
    const chunks: Buffer[] = []
    let size = 0
    let mime: string | undefined
    const judge = (): void => {
      mime = sniff(chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks))
      if (mime === undefined || !this.#types.includes(mime)) {
        throw refused(part, `it is not one of ${this.#types.join(', ')}`, new Error(`sent as ${type || 'nothing'}`))
      }
    }
    for await (const chunk of body) {
      size += chunk.length
      budget.left -= chunk.length
      if (size > this.#options.maxBytes || budget.left < 0) throw refused(part, 'it is too large')
      chunks.push(chunk)
      if (mime === undefined && size >= HEAD_BYTES) judge()
    }
    if (mime === undefined) judge()
    return { mime: mime ?? '', bytes: Buffer.concat(chunks) }
  }
}

interface Budget {
  /** Bytes that may still come. */
  left: number
  readonly egress: Egress | undefined
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The message for the client: it reveals neither the URL's host nor what is behind it. */
function refused(part: WantedMedia | undefined, why: string, cause?: unknown): GatewayError {
  const param = part?.at
  const place = param === undefined ? '' : ` at '${param}'`
  return new GatewayError('invalid_parameter', `The URL${place} cannot be used: ${why}.`, {
    param,
    cause,
    phase: 'media',
  })
}
