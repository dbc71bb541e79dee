import type { Traits } from '../core/codec.js'
import type { MediaPart } from '../core/text.js'

/** Whether an upstream fetches the URL of this part itself. `usual`: what upstreams of its protocol do. */
export function isFetched({ source }: MediaPart, { fetches_urls: declared }: Traits, usual: boolean): boolean {
  if (declared !== 'https') return declared ?? usual
  return 'url' in source && /^https:/i.test(source.url)
}
