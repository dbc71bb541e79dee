import { kindOfMime } from '../../codecs/media.js'
import type { EmbedInput } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import type { Translation } from '../../core/plan.js'
import { untranslatable } from '../../core/refusals.js'
import type { MediaKind, MediaPart, Part } from '../../core/text.js'
import type { Fetched, MediaFetcher } from '../../net/media.js'
import type { Call } from '../call.js'
import type { DecodedRequest } from './decoded-request.js'

/** Facts about a fetched document. */
interface Document {
  readonly mime: string
  readonly base64: string
}

interface Remote extends MediaPart {
  readonly source: { readonly url: string }
}

/** The canonical fields that say whether a protocol can be given a kind of media as bytes. */
const FIELDS = { image: 'imageData', audio: 'audioData', video: 'videoData', document: 'documentData' } as const

/**
 * Media that the client names by URL, for targets that take bytes only. What was fetched for one target of a call is kept
 * for the others.
 */
export class RemoteMedia {
  readonly #call: Call
  readonly #found = new Map<string, Document>()
  /** There once something is fetched. */
  #stop: AbortController | undefined
  #bytes = 0

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Replaces URLs that this target does not accept by their bytes. Throws `untranslatable` if fetching is not
   * allowed, `invalid_parameter` if a URL cannot be fetched, and `client_gone` after {@link cancel}.
   */
  async inlined(decoded: DecodedRequest, translation: Translation): Promise<DecodedRequest> {
    const wanted = wantedBy(decoded.request, translation)
    if (wanted.length === 0) return decoded
    try {
      await this.fetch(wanted, translation, this.#call.generation.media)
      const request = this.withBytes(decoded.request, new Set(wanted))
      return { ...decoded, request, size: decoded.size + Math.ceil((this.#bytes * 4) / 3) }
    } catch (cause) {
      throw cause instanceof GatewayError ? (this.#call.turn?.placed(cause) ?? cause) : cause
    }
  }

  /** Whether something was fetched; it stays in memory until the call ends. */
  get holds(): boolean {
    return this.#found.size > 0
  }

  /** The call is over: nothing more is fetched for it. */
  cancel(): void {
    this.#stop?.abort()
  }

  private async fetch(
    wanted: readonly Remote[],
    { traits }: Translation,
    fetcher: MediaFetcher | undefined,
  ): Promise<void> {
    const missing = wanted.filter(({ source }) => !this.#found.has(source.url))
    const [first] = missing
    if (first === undefined) return
    if (fetcher === undefined) {
      const kind = traits.fetches_urls === 'https' ? 'URLs other than https' : 'URLs'
      throw untranslatable(first.at ?? 'url', `it does not accept ${kind}, and fetching them is not allowed here`)
    }
    const wishes = missing.map(({ source, at }) => ({ url: source.url, ...(at !== undefined && { at }) }))
    const earlier: Fetched = { count: this.#found.size, bytes: this.#bytes }
    this.#stop ??= new AbortController()
    const documents = await fetcher.fetchAll(wishes, this.#stop.signal, earlier)
    const room = this.#call.memory.reserve(
      documents.reduce((sum, { bytes }) => sum + Math.ceil((bytes.length * 4) / 3), 0),
    )
    if (room !== undefined) await room
    for (const [index, { mime, bytes }] of documents.entries()) {
      const url = wishes[index]?.url ?? ''
      if (this.#found.has(url)) continue
      this.#bytes += bytes.length
      this.#found.set(url, { mime, base64: bytes.toString('base64') })
    }
  }

  private withBytes(request: DecodedRequest['request'], wanted: ReadonlySet<Part>): DecodedRequest['request'] {
    const inline = <P extends Part>(part: P): P =>
      isRemote(part) && wanted.has(part) ? { ...part, ...this.bytesOf(part) } : part
    const given = (part: Part): Part =>
      part.type === 'result' ? { ...part, parts: part.parts.map(inline) } : inline(part)
    if ('turns' in request)
      return { ...request, turns: request.turns.map(turn => ({ ...turn, parts: turn.parts.map(given) })) }
    if ('images' in request) return { ...request, images: request.images.map(inline) }
    if (!('inputs' in request)) return request
    const whole = (input: EmbedInput): EmbedInput =>
      'parts' in input ? { ...input, parts: input.parts.map(inline) } : input
    return { ...request, inputs: request.inputs.map(whole) }
  }

  private bytesOf({ source, kind, at }: Remote): Pick<MediaPart, 'kind' | 'mime' | 'source'> {
    const found = this.#found.get(source.url)
    if (found === undefined) throw new Error('a document was not fetched')
    const { mime, base64 } = found
    const real = kindOfMime(mime)
    if (kind !== 'document' && kind !== real) throw mistaken(kind, at)
    return { kind: real, mime, source: { base64 } }
  }
}

/** Media by URL that the target could be given as bytes alone. */
function wantedBy(request: DecodedRequest['request'], { client, traits }: Translation): readonly Remote[] {
  const wanted: Remote[] = []
  if (client.operation === 'text' && 'turns' in request) {
    const { carries, takesUrl } = client.client
    const look = (part: Part): void => {
      if (part.type === 'result') part.parts.forEach(look)
      if (!isRemote(part) || takesUrl(part, traits)) return
      // What cannot be given as bytes either is the codec's to refuse, or to leave out.
      const carry = carries[FIELDS[part.kind]]
      if (carry === 'carried' || 'approximated' in carry) wanted.push(part)
    }
    for (const { parts } of request.turns) parts.forEach(look)
  }
  if (client.operation === 'embed' && 'inputs' in request && traits.image_inputs !== undefined) {
    for (const input of request.inputs) {
      if (!('parts' in input)) continue
      for (const part of input.parts)
        if (isRemote(part) && client.client.takesUrl?.(part, traits) === false) wanted.push(part)
    }
  }
  if (client.operation === 'edit' && 'images' in request) {
    for (const part of request.images)
      if (isRemote(part) && client.client.takesUrl?.(part, traits) === false) wanted.push(part)
  }
  return wanted
}

function isRemote(part: Part): part is Remote {
  return part.type === 'media' && 'url' in part.source
}

function mistaken(kind: MediaKind, at: string | undefined): GatewayError {
  const place = at === undefined ? '' : ` at '${at}'`
  const message = `The URL${place} cannot be used: its content is not of type ${kind}.`
  return new GatewayError('invalid_parameter', message, { param: at, phase: 'media' })
}
