import { jsonText } from '../../core/exact-json.js'
import { isObject } from '../../core/json.js'
import type { Left, Part } from '../../core/text.js'
import { decodeBorrowedSeal, SealedParts } from '../borrowed-seal.js'
import { decodeCallId } from '../messages/names.js'
import { invalid, isBounded, type Reader } from '../read.js'
import { unwrapThought } from '../seal.js'
import { decodeCitations } from './citations.js'
import { decodeCachePoint, decodeMedia, decodeResultContent, decodeSearchResult, PROTOCOL } from './media-in.js'
import { decodeRedacted } from './seals.js'

/** Reads the blocks of one turn. Each is an object with one member, which says what it is. */
export class BlocksIn {
  readonly #parts = new SealedParts()
  readonly #left: Left[]

  constructor(left: Left[]) {
    this.#left = left
  }

  read(blocks: readonly Reader[]): readonly Part[] {
    for (const block of blocks) this.#block(block)
    return this.#parts.whole()
  }

  #block(block: Reader): void {
    const { at } = block
    const point = block.object('cachePoint')
    const thought = block.object('reasoningContent')
    const call = block.object('toolUse')
    const result = block.object('toolResult')
    const cited = block.object('citationsContent')
    const found = block.object('searchResult')
    if (block.has('text')) this.#parts.add({ type: 'text', text: block.required('text'), at })
    else if (point !== undefined) this.#mark(point)
    else if (thought !== undefined) this.#thought(thought)
    else if (call !== undefined && !call.has('type')) this.#call(call)
    else if (result !== undefined && !result.has('type')) this.#result(result)
    else if (cited !== undefined) this.#cited(cited)
    else if (found !== undefined) this.#parts.add(decodeSearchResult(found))
    else {
      const media = decodeMedia(block)
      if (media === undefined && !isBounded(block.value)) throw invalid(at, 'it is nested too deeply')
      this.#parts.add(media ?? { type: 'hosted', of: PROTOCOL, value: block.value, at })
    }
  }

  /** A mark is a block behind what it marks. */
  #mark(point: Reader): void {
    const { last } = this.#parts
    if (last === undefined || last.type === 'reasoning' || last.type === 'hosted') {
      this.#left.push({ field: point.at, why: 'in other protocols a mark is on text, media, a call or a result' })
    } else this.#parts.change({ ...last, cache: decodeCachePoint(point) })
  }

  #thought(thought: Reader): void {
    const { at } = thought
    const redacted = thought.string('redactedContent')
    if (redacted !== undefined) {
      this.#parts.add({ type: 'reasoning', text: '', redacted: true, at, ...decodeRedacted(redacted) })
      return
    }
    const reasoning = thought.object('reasoningText')
    const text = reasoning?.string('text') ?? ''
    const signature = reasoning?.string('signature') ?? ''
    const borrowed = text === '' ? decodeBorrowedSeal(signature) : undefined
    if (borrowed !== undefined) this.#parts.borrowed(borrowed, at)
    else if (signature !== '') this.#parts.add({ type: 'reasoning', text, at, ...unwrapThought(signature, PROTOCOL) })
    else if (text !== '') this.#parts.add({ type: 'reasoning', text, at })
  }

  #call(call: Reader): void {
    const input = call.raw('input') ?? {}
    if (!isObject(input)) throw invalid(call.path('input'), 'expected an object')
    if (!isBounded(input)) throw invalid(call.path('input'), 'it is nested too deeply')
    const [id, name] = [decodeCallId(call.required('toolUseId')), call.required('name')]
    this.#parts.add({ type: 'call', id, name, arguments: jsonText(input), at: call.at })
  }

  #result(result: Reader): void {
    const blocks = result.objects('content') ?? []
    const objects = blocks.flatMap(block => (isObject(block.raw('json')) ? [block] : []))
    const [only] = objects
    const parts = blocks.flatMap(block => {
      const json = block.raw('json')
      if (json !== undefined && !isBounded(json)) throw invalid(block.path('json'), 'it is nested too deeply')
      if (json !== undefined) return [{ type: 'text' as const, text: jsonText(json), at: block.at }]
      return decodeResultContent([block], unknown =>
        this.#left.push({ field: unknown.at, why: 'results of this type exist only in this protocol' }),
      )
    })
    const object = blocks.length === 1 ? only?.object('json')?.value : undefined
    this.#parts.add({
      type: 'result',
      id: decodeCallId(result.required('toolUseId')),
      parts,
      at: result.at,
      ...(object !== undefined && { object }),
      ...(result.string('status') === 'error' && { error: true }),
    })
  }

  /** Texts with what they cite. */
  #cited(block: Reader): void {
    const texts = (block.objects('content') ?? []).map(one => one.string('text') ?? '')
    const citations = decodeCitations(block.raw('citations'))
    const part: Part = { type: 'text', text: texts.join(''), at: block.at }
    this.#parts.add(citations.length === 0 ? part : { ...part, citations })
  }
}
