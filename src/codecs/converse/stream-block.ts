import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Part } from '../../core/text.js'
import { badUpstream, objectOf, parseObject, stringOf } from '../read.js'
import { decodeImage, hosted } from './result-in.js'

/** Most characters of a block that has to be whole before it can be sent. */
const MAX_BLOCK_CHARS = 32 * 1024 * 1024

/** Most pieces of the result of a tool that ran at the upstream. */
const MAX_PIECES = 10_000

type Kind = 'toolUse' | 'toolResult' | 'image'

/** A block that is reported as a whole when it ends: an image, or the trace of a tool that runs at the upstream. */
export class HeldBlock {
  readonly kind = 'held'
  readonly #of: Kind
  readonly #begun: JsonObject
  #source: JsonObject = {}
  readonly #input: string[] = []
  readonly #content: Json[] = []
  #size = 0

  private constructor(of: Kind, begun: JsonObject) {
    this.#of = of
    this.#begun = begun
  }

  /** The block that an event began; undefined for one that is not known. */
  static of(start: JsonObject): HeldBlock | undefined {
    const of = (['toolUse', 'toolResult', 'image'] as const).find(one => isObject(start[one]))
    return of === undefined ? undefined : new HeldBlock(of, objectOf(start[of]) ?? {})
  }

  /** Throws `bad_upstream_response` where it becomes too large. */
  grow(delta: JsonObject): void {
    const input = stringOf(objectOf(delta.toolUse)?.input)
    const source = objectOf(objectOf(delta.image)?.source)
    if (input !== undefined) {
      this.#count(input.length)
      this.#input.push(input)
    } else if (source !== undefined) {
      const [before, after] = [stringOf(this.#source.bytes) ?? '', stringOf(source.bytes)]
      this.#count(after?.length ?? 0)
      this.#source = after === undefined ? source : { bytes: before + after }
    } else if (Array.isArray(delta.toolResult)) {
      for (const piece of delta.toolResult as readonly Json[]) this.#content.push(piece)
      if (this.#content.length > MAX_PIECES) throw badUpstream('A block is too long.')
    }
  }

  part(): Part {
    switch (this.#of) {
      case 'image': {
        const image = { ...this.#begun, source: this.#source }
        return decodeImage(image) ?? hosted({ image })
      }
      case 'toolUse':
        return hosted({ toolUse: { ...this.#begun, input: parseObject(this.#input.join('')) ?? {} } })
      case 'toolResult':
        return hosted({ toolResult: { ...this.#begun, content: this.#content } })
    }
  }

  #count(length: number): void {
    this.#size += length
    if (this.#size > MAX_BLOCK_CHARS) throw badUpstream('A block is too long.')
  }
}
