import { kindOfMime } from '../../codecs/media.js'
import { GatewayError } from '../../core/errors.js'
import type { Translation, Upstream } from '../../core/plan.js'
import { mayReach } from '../../core/region.js'
import type { MediaKind } from '../../core/text.js'
import type { Fetched as Earlier } from '../../net/media.js'
import type { DecodedRequest } from '../../translate/decode.js'
import { type Fetched, notFetched, type RemotePart, wantedBytes, withFetched } from '../../translate/media.js'
import { setFetchedMedia } from '../added-input.js'
import type { Call } from '../call.js'
import { hooksOf } from './hooks.js'

/** Facts about a fetched document. */
interface Document {
  readonly mime: string
  readonly base64: string
}

/**
 * Media that the client names by URL, for targets that accept bytes only. What was fetched for one target of a call is kept
 * for the others.
 */
export class RemoteMedia {
  readonly #call: Call
  readonly #found = new Map<string, Document>()
  /** Created by the first fetch. */
  #stop: AbortController | undefined
  #bytes = 0

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Replaces URLs that this target does not accept by their bytes. Throws `untranslatable` if fetching is not
   * allowed, `invalid_parameter` if a URL cannot be fetched, and `client_gone` after {@link cancel}.
   */
  async inlined(decoded: DecodedRequest, translation: Translation, upstream: Upstream): Promise<DecodedRequest> {
    const wanted = wantedBytes(decoded.request, translation)
    if (wanted.length === 0) return decoded
    try {
      await this.fetch(wanted, translation, upstream)
      setFetchedMedia(this.#call, wanted.length)
      const request = withFetched(decoded.request, wanted, part => this.bytesOf(part))
      return { ...decoded, request, size: decoded.size + Math.ceil((this.#bytes * 4) / 3) }
    } catch (cause) {
      throw cause instanceof GatewayError ? (hooksOf(this.#call).placed?.(cause) ?? cause) : cause
    }
  }

  /** Whether something was fetched; it stays in memory until the call ends. */
  get holds(): boolean {
    return this.#found.size > 0
  }

  /** The call is over: stops fetching. */
  cancel(): void {
    this.#stop?.abort()
  }

  private async fetch(wanted: readonly RemotePart[], translation: Translation, upstream: Upstream): Promise<void> {
    const { generation } = this.#call
    const fetcher = generation.media
    const missing = wanted.filter(({ source }) => !this.#found.has(source.url))
    const [first] = missing
    if (first === undefined) return
    const { region } = generation.plan.media.fetch ?? {}
    if (fetcher === undefined || !mayReach(this.#call.caller?.regions, region)) throw notFetched(first, translation)
    const needed = missing.map(({ source, at }) => ({ url: source.url, ...(at !== undefined && { at }) }))
    const earlier: Earlier = { count: this.#found.size, bytes: this.#bytes }
    this.#stop ??= new AbortController()
    const documents = await fetcher.fetchAll(needed, this.#stop.signal, earlier, generation.reach(upstream).egress)
    const room = this.#call.memory.reserve(
      documents.reduce((sum, { bytes }) => sum + Math.ceil((bytes.length * 4) / 3), 0),
    )
    if (room !== undefined) await room
    for (const [index, { mime, bytes }] of documents.entries()) {
      const url = needed[index]?.url ?? ''
      if (this.#found.has(url)) continue
      this.#bytes += bytes.length
      this.#found.set(url, { mime, base64: bytes.toString('base64') })
    }
  }

  private bytesOf({ source, kind, at }: RemotePart): Fetched {
    const found = this.#found.get(source.url)
    if (found === undefined) throw new Error('a document was not fetched')
    const { mime, base64 } = found
    const real = kindOfMime(mime)
    if (kind !== 'document' && kind !== real) throw mistaken(kind, at)
    return { kind: real, mime, source: { base64 } }
  }
}

function mistaken(kind: MediaKind, at: string | undefined): GatewayError {
  const place = at === undefined ? '' : ` at '${at}'`
  const message = `The URL${place} cannot be used: its content is not of type ${kind}.`
  return new GatewayError('invalid_parameter', message, { param: at, phase: 'media' })
}
