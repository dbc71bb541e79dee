import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Seal } from '../../core/text.js'
import { badUpstream, numberOf, stringOf } from '../read.js'
import { sealOfExtra } from './reasoning.js'

/** A call while its arguments come. */
export class OpenCall {
  readonly index: number
  /** The id that the upstream gave; empty where it gave none. */
  readonly id: string
  readonly custom: boolean
  seal: Seal | undefined
  open = true
  #arguments = ''
  /** Length of the arguments when they were last looked at, and what they were then. */
  #checked = 0
  #complete = false

  constructor(index: number, id: string, custom: boolean) {
    this.index = index
    this.id = id
    this.custom = custom
  }

  grow(text: string): void {
    this.#arguments += text
  }

  sealWith(extra: Json | undefined): void {
    if (extra !== undefined) this.seal = sealOfExtra(extra) ?? this.seal
  }

  /**
   * Whether no more can come: the arguments are a whole JSON object. Free text is never known to be whole, nor are
   * arguments that have not begun.
   */
  complete(): boolean {
    if (this.custom || this.#arguments.length === this.#checked) return this.#complete
    this.#checked = this.#arguments.length
    this.#complete = isObjectText(this.#arguments)
    return this.#complete
  }
}

function isObjectText(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/**
 * Whose piece an element of `delta.tool_calls` is. That is said by `index`; some servers leave it out, and some say 0 for
 * every call and tell them apart by id, or by the name that only a call's first piece has.
 */
export class CallTable {
  readonly #byIndex = new Map<number, OpenCall>()
  readonly all: OpenCall[] = []

  /** The call that this piece belongs to; undefined where it begins another. */
  find(piece: JsonObject, name: string, id: string): OpenCall | undefined {
    const index = numberOf(piece.index)
    const call = index !== undefined ? this.#byIndex.get(index) : this.withoutIndex(id, name)
    if (call === undefined || name === '') return call
    if (id !== '' && id !== call.id) return undefined
    return id === '' && call.complete() ? undefined : call
  }

  add(piece: JsonObject, call: OpenCall): void {
    const index = numberOf(piece.index)
    if (index !== undefined) this.#byIndex.set(index, call)
    this.all.push(call)
  }

  private withoutIndex(id: string, name: string): OpenCall | undefined {
    if (id !== '') return this.all.findLast(call => call.id === id)
    return name === '' ? this.all.at(-1) : undefined
  }
}

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
