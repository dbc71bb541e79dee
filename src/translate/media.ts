import type { EmbedInput } from '../core/embed.js'
import type { GatewayError } from '../core/errors.js'
import type { Translation } from '../core/plan.js'
import { untranslatable } from '../core/refusals.js'
import type { MediaPart, Part } from '../core/text.js'
import type { DecodedRequest } from './decode.js'

/** Media that a request names by URL. */
export interface RemotePart extends MediaPart {
  readonly source: { readonly url: string }
}

/** What is sent in place of a URL. */
export type Fetched = Pick<MediaPart, 'kind' | 'mime' | 'source'>

/** The canonical fields that say whether a protocol can be given a kind of media as bytes. */
const FIELDS = { image: 'imageData', audio: 'audioData', video: 'videoData', document: 'documentData' } as const

/** Media by URL that the target takes as bytes only. */
export function wantedBytes(
  request: DecodedRequest['request'],
  { client, traits }: Translation,
): readonly RemotePart[] {
  const wanted: RemotePart[] = []
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
    const { carries, takesUrl } = client.client
    const mask = carries.mask === 'carried' && request.mask !== undefined ? [request.mask] : []
    for (const part of [...request.images, ...mask])
      if (isRemote(part) && takesUrl?.(part, traits) === false) wanted.push(part)
  }
  return wanted
}

/** The refusal where the gateway may not fetch it. */
export function notFetched({ at = 'url' }: RemotePart, { traits }: Translation): GatewayError {
  const kind = traits.fetches_urls === 'https' ? 'URLs other than https' : 'URLs'
  return untranslatable(at, `it does not accept ${kind}, and fetching them is not allowed here`)
}

/** The request with these parts replaced by what was fetched of each. */
export function withFetched<R extends DecodedRequest['request']>(
  request: R,
  wanted: readonly RemotePart[],
  fetched: (part: RemotePart) => Fetched,
): DecodedRequest['request'] {
  const those = new Set<Part>(wanted)
  const inline = <P extends Part>(part: P): P =>
    isRemote(part) && those.has(part) ? { ...part, ...fetched(part) } : part
  const given = (part: Part): Part =>
    part.type === 'result' ? { ...part, parts: part.parts.map(inline) } : inline(part)
  if ('turns' in request)
    return { ...request, turns: request.turns.map(turn => ({ ...turn, parts: turn.parts.map(given) })) }
  if ('images' in request) {
    const { images, mask } = request
    return { ...request, images: images.map(inline), ...(mask && { mask: inline(mask) }) }
  }
  if (!('inputs' in request)) return request
  const whole = (input: EmbedInput): EmbedInput =>
    'parts' in input ? { ...input, parts: input.parts.map(inline) } : input
  return { ...request, inputs: request.inputs.map(whole) }
}

function isRemote(part: Part): part is RemotePart {
  return part.type === 'media' && 'url' in part.source
}
