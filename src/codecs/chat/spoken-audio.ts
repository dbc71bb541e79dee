import type { JsonObject } from '../../core/json.js'
import { badUpstream, stringOf } from '../read.js'

/** Most bytes of audio in one choice. */
const MAX_AUDIO_BYTES = 64 << 20

/** Audio that comes in pieces, each of them base64 by itself: it can be sent only when it is whole. */
export class SpokenAudio {
  #id: string | undefined
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #transcript: string | undefined

  push(piece: JsonObject): void {
    this.#id ??= stringOf(piece.id)
    const words = stringOf(piece.transcript)
    if (words !== undefined) this.#transcript = (this.#transcript ?? '') + words
    const data = stringOf(piece.data)
    if (data === undefined) return
    const bytes = Buffer.from(data, 'base64')
    this.#bytes += bytes.length
    if (this.#bytes > MAX_AUDIO_BYTES) throw badUpstream('The audio is too long.')
    this.#pieces.push(bytes)
  }

  whole(): {
    readonly id: string | undefined
    readonly data: string | undefined
    readonly transcript: string | undefined
  } {
    const data = this.#pieces.length === 0 ? undefined : Buffer.concat(this.#pieces).toString('base64')
    return { id: this.#id, data, transcript: this.#transcript }
  }
}
