import type { Placement } from '../core/placement.js'
import type { UpstreamRequest } from '../transport/client/handler.js'

/** Where the file says that a token goes. */
export class TokenPlace {
  readonly #place: Placement
  /** The token that `#sent` was made of. */
  #of: string | undefined
  /** A header's name and value, or a parameter of the query. Made once for each token. */
  #sent: readonly string[] = []

  constructor(place: Placement) {
    this.#place = place
  }

  /** The request with the token. `signedWith`: the credential that has it. */
  put({ method, path, headers, body }: UpstreamRequest, token: string, signedWith: unknown): UpstreamRequest {
    if (token !== this.#of) {
      this.#sent = sentIn(this.#place, token)
      this.#of = token
    }
    const sent = this.#sent
    if (this.#place.in !== 'query') return { method, path, headers: headers.concat(sent), body, signedWith }
    return { method, path: `${path}${path.includes('?') ? '&' : '?'}${sent[0]}`, headers, body, signedWith }
  }
}

function sentIn(place: Placement, token: string): readonly string[] {
  if (place.in === 'query') return [`${encodeURIComponent(place.name)}=${encodeURIComponent(token)}`]
  if (place.in !== 'header') return ['sec-websocket-protocol', place.prefix + token]
  return [place.name, place.scheme === undefined ? token : `${place.scheme} ${token}`]
}
