import { GatewayError } from '../../core/errors.js'
import type { Call } from '../call.js'
import { type ContentWish, typeOfContent } from './content-relay.js'
import type { Variant } from './faces/face.js'

/** Sends a result that an upstream put into its answer as a data URL. */
export function inlineContent(
  call: Call,
  url: string,
  variant: Variant,
  { tag, cached, head, headers }: ContentWish,
): void {
  const [, said = '', data = ''] = /^data:([\w.+-]+\/[\w.+-]+)?;base64,([A-Za-z0-9+/=]+)$/.exec(url) ?? []
  const type = typeOfContent(variant, said)
  if (data === '' || type === undefined)
    throw new GatewayError('bad_upstream_response', 'The content of this task cannot be read.')
  const whole = Buffer.from(data, 'base64')
  const range = rangeOf(headers[1], whole.length)
  const common = ['content-type', type, 'etag', tag, 'cache-control', cached, 'accept-ranges', 'bytes']
  if (range === 'none') {
    call.begin(416, [...common, 'content-range', `bytes */${whole.length}`, 'content-length', '0'])
    call.end()
    return
  }
  const part = range === undefined ? whole : whole.subarray(range.first, range.last + 1)
  const place = range === undefined ? [] : ['content-range', `bytes ${range.first}-${range.last}/${whole.length}`]
  call.begin(range === undefined ? 200 : 206, [...common, ...place, 'content-length', String(part.length)])
  if (head) call.end()
  else call.end(part)
}

/** One range of bytes (RFC 9110 §14.1.2); several at once are answered with the whole. */
function rangeOf(header: string | undefined, length: number): { first: number; last: number } | 'none' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  // One that ends before it begins is no range, and so not there.
  if ((from === '' && to === '') || (from !== '' && to !== '' && Number(from) > Number(to))) return undefined
  const first = from === '' ? Math.max(0, length - Number(to)) : Number(from)
  const last = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
  return first > last || first >= length ? 'none' : { first, last }
}
