import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { CacheMark, Left, Part, TextPart } from '../../core/text.js'
import { decodeBorrowedSeal, SealedParts } from '../borrowed-seal.js'
import { invalid, isBounded, Reader } from '../read.js'

import { unwrapThought } from '../seal.js'
import { decodeCitation } from './citations.js'
import { decodeDocument, decodeImage, decodeResultContent, decodeSearchResult } from './media-in.js'
import { decodeCallId } from './names.js'

/** Reads the content of one turn: a string, or blocks. What has no place is put down in `left`. */
export class BlocksIn {
  readonly #parts = new SealedParts()
  readonly #left: Left[]

  constructor(left: Left[]) {
    this.#left = left
  }

  read(content: Json | undefined, at: string): readonly Part[] {
    if (typeof content === 'string') return [{ type: 'text', text: content, at }]
    if (!Array.isArray(content)) throw invalid(at, 'expected a string or an array')
    for (const [i, value] of (content as readonly Json[]).entries()) {
      const place = `${at}[${i}]`
      if (typeof value === 'string') this.add({ type: 'text', text: value, at: place })
      else if (!isObject(value)) throw invalid(place, 'expected an object')
      else this.block(new Reader(value, place))
    }
    return this.#parts.whole()
  }

  private block(block: Reader): void {
    const about = { at: block.at, ...cacheOf(block) }
    switch (block.required('type')) {
      case 'text':
        this.add({ type: 'text', text: block.required('text'), ...citationsOf(block), ...about })
        break
      case 'image':
        this.add(decodeImage(block, about))
        break
      case 'document':
        this.add(...decodeDocument(block, about))
        break
      case 'search_result':
        this.add(decodeSearchResult(block, about))
        break
      case 'thinking':
        this.thinking(block)
        break
      case 'redacted_thinking':
        this.add({
          type: 'reasoning',
          text: '',
          redacted: true,
          at: block.at,
          ...unwrapThought(block.required('data'), 'messages'),
        })
        break
      case 'tool_use':
        this.call(block, about)
        break
      case 'tool_result':
        this.result(block, about)
        break
      default:
        if (!isBounded(block.value)) throw invalid(block.at, 'it is nested too deeply')
        this.add({ type: 'hosted', of: 'messages', value: block.value, at: block.at })
    }
  }

  private thinking(block: Reader): void {
    const text = block.string('thinking') ?? ''
    const signature = block.string('signature') ?? ''
    const borrowed = text === '' ? decodeBorrowedSeal(signature) : undefined
    if (borrowed !== undefined) this.#parts.borrowed(borrowed, block.at)
    else if (signature !== '') {
      this.add({ type: 'reasoning', text, at: block.at, ...unwrapThought(signature, 'messages') })
    } else if (text !== '') this.add({ type: 'reasoning', text, at: block.at })
  }

  private call(block: Reader, about: { readonly at: string; readonly cache?: CacheMark }): void {
    const input = block.object('input')?.value ?? {}
    if (!isBounded(input)) throw invalid(block.path('input'), 'it is nested too deeply')
    const caller = block.object('caller')
    if (caller !== undefined && caller.string('type') !== 'direct') {
      this.leave(caller.at, 'calls made by code at the upstream exist only in this protocol')
    }
    const id = decodeCallId(block.required('id'))
    this.add({ type: 'call', id, name: block.required('name'), arguments: jsonText(input), ...about })
  }

  private result(block: Reader, about: { readonly at: string; readonly cache?: CacheMark }): void {
    const parts = decodeResultContent(block.raw('content'), block.path('content'), cacheOf, unknown => {
      this.leave(unknown.at, 'results of this type exist only in this protocol')
    })
    const id = decodeCallId(block.required('tool_use_id'))
    const error = block.boolean('is_error')
    this.add({ type: 'result', id, parts, ...(error === true && { error }), ...about })
  }

  private add(...parts: readonly Part[]): void {
    this.#parts.add(...parts)
  }

  private leave(field: string, why: string): void {
    this.#left.push({ field, why })
  }
}

/** Instructions: a string, or blocks of text. Blocks of other kinds are left. */
export function readSystem(content: Json | undefined, at: string, left: Left[]): TextPart[] {
  if (content === undefined) return []
  return new BlocksIn(left).read(content, at).filter((part): part is TextPart => {
    if (part.type !== 'text') left.push({ field: part.at ?? at, why: 'instructions are text in other protocols' })
    return part.type === 'text'
  })
}

/** `cache_control`: `{type: "ephemeral", ttl?: "5m" | "1h"}`. */
export function cacheOf(holder: Reader): { readonly cache?: CacheMark } {
  const control = holder.object('cache_control')
  if (control === undefined) return {}
  const ttl = control.string('ttl')
  return { cache: ttl === '5m' || ttl === '1h' ? { ttl } : {} }
}

function citationsOf(block: Reader): Pick<TextPart, 'citations'> {
  const citations = block.objects('citations')?.map(({ value }): JsonObject => value) ?? []
  return citations.length === 0 ? {} : { citations: citations.map(decodeCitation) }
}
