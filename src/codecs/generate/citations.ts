import type { Json, JsonObject } from '../../core/json.js'
import type { Citation } from '../../core/text.js'
import { MAX_CITATIONS } from '../quotes.js'
import { arrayOf, countOf, given, numberOf, objectOf, stringOf } from '../read.js'

import { ByteMap } from './byte-map.js'

interface Source {
  readonly url: string | undefined
  readonly title: string | undefined
  readonly quote: string | undefined
}

/**
 * Sources of a candidate's text: `groundingMetadata` (each supported stretch of text names its sources by their place in
 * a list) and `citationMetadata` (stretches that repeat a source). Places are bytes of the text; `map` makes characters
 * of them.
 */
export function citationsIn(candidate: JsonObject, map: ByteMap): Citation[] {
  const grounding = objectOf(candidate.groundingMetadata)
  const found = grounding === undefined ? [] : groundingIn(grounding, map)
  for (const each of arrayOf(objectOf(candidate.citationMetadata)?.citationSources)) {
    const source = objectOf(each)
    if (source === undefined || found.length >= MAX_CITATIONS) continue
    found.push({ ...given({ url: stringOf(source.uri), title: stringOf(source.title) }), ...rangeIn(source, map) })
  }
  return found
}

function groundingIn(grounding: JsonObject, map: ByteMap): Citation[] {
  const sources = arrayOf(grounding.groundingChunks).slice(0, MAX_CITATIONS).map(sourceIn)
  const found: Citation[] = []
  const supports = arrayOf(grounding.groundingSupports)
  for (const each of supports) {
    const support = objectOf(each)
    const range = rangeIn(objectOf(support?.segment) ?? {}, map)
    for (const one of arrayOf(support?.groundingChunkIndices)) {
      const index = numberOf(one)
      const source = index !== undefined ? sources[index] : undefined
      if (source !== undefined && found.length < MAX_CITATIONS) found.push({ ...given(source), ...range })
    }
  }
  if (supports.length > 0) return found
  return sources.filter(source => source !== undefined).map(source => given(source))
}

/** Sources are under their kind: `web`, `retrievedContext`, `maps`, `image`. */
function sourceIn(chunk: Json): Source | undefined {
  const kinds = objectOf(chunk)
  const source = objectOf(kinds?.web) ?? objectOf(kinds?.retrievedContext) ?? objectOf(kinds?.maps)
  if (source !== undefined) {
    return { url: stringOf(source.uri), title: stringOf(source.title), quote: stringOf(source.text) }
  }
  const image = objectOf(kinds?.image)
  return image === undefined
    ? undefined
    : { url: stringOf(image.sourceUri), title: stringOf(image.title), quote: undefined }
}

/** A range without its start begins with the text. */
function rangeIn(range: JsonObject, map: ByteMap): { start?: number; end?: number } {
  const end = countOf(range.endIndex)
  if (end === undefined) return {}
  return { start: map.charAt(countOf(range.startIndex) ?? 0), end: map.charAt(end) }
}

/**
 * Gathers the texts of a candidate with their citations, for `groundingMetadata`. Clients see one text, so a
 * citation of a whole part gets the place of that part, unless it is the only one.
 */
export class Grounding {
  readonly #map = new ByteMap()
  #length = 0
  /** Where the text of each part begins and ends, by the index of the part. */
  readonly #texts = new Map<number, { readonly from: number; to: number }>()
  readonly #cited: { readonly index: number; readonly citation: Citation }[] = []
  readonly #chunks: JsonObject[] = []
  readonly #places = new Map<string, number>()

  /** Takes more of the text of a part. */
  text(index: number, text: string): void {
    if (text === '') return
    const known = this.#texts.get(index)
    this.#map.add(text)
    if (known === undefined) this.#texts.set(index, { from: this.#length, to: this.#length + text.length })
    else known.to = this.#length + text.length
    this.#length += text.length
  }

  /** False where the citation names no source in words of its own: it then has no form here. */
  cite(index: number, citation: Citation): boolean {
    const { url, title, quote } = citation
    const isNamed = url !== undefined || title !== undefined || quote !== undefined
    if (!isNamed || this.#cited.length >= MAX_CITATIONS) return false
    this.#cited.push({ index, citation })
    return true
  }

  /** Where no source has a place in the text, the sources are all there is to say. */
  metadata(): JsonObject | undefined {
    if (this.#cited.length === 0) return undefined
    const supports = this.#cited.map(({ index, citation }) => this.support(index, citation))
    const hasPlaces = supports.some(({ segment }) => segment !== undefined)
    return { groundingChunks: this.#chunks, ...(hasPlaces && { groundingSupports: supports }) }
  }

  private support(index: number, citation: Citation): JsonObject {
    const text = this.#texts.get(index)
    const whole = this.#texts.size > 1 && text !== undefined ? { start: 0, end: text.to - text.from } : undefined
    const { start = whole?.start, end = whole?.end } = citation
    if (start === undefined || end === undefined) return { groundingChunkIndices: [this.source(citation)] }
    const from = text?.from ?? 0
    const segment = { startIndex: this.#map.byteAt(from + start), endIndex: this.#map.byteAt(from + end) }
    return { segment, groundingChunkIndices: [this.shared(citation)] }
  }

  /** Index of a source that several places may have. */
  private shared(citation: Citation): number {
    const key = JSON.stringify([citation.url, citation.title, citation.quote])
    const known = this.#places.get(key) ?? this.source(citation)
    this.#places.set(key, known)
    return known
  }

  private source({ url, title, quote }: Citation): number {
    const source: Record<string, Json> = given({ uri: url, title, text: quote })
    return this.#chunks.push(quote === undefined ? { web: source } : { retrievedContext: source }) - 1
  }
}
