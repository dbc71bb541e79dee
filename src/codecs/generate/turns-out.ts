import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { CallPart, MediaPart, Part, ReasoningPart, ResultPart, Turn } from '../../core/text.js'
import { MADE_UP } from '../made-ids.js'
import { mediaData } from '../native-media.js'
import { invalid } from '../read.js'
import {
  callOut,
  ownSignature,
  PROTOCOL,
  SKIP_SIGNATURE,
  signed,
  textOut,
  thoughtOut,
  type WirePart,
  wireName,
} from './calls.js'

import { responseOf } from './parts-in.js'

/** What is where a conversation does not begin with the user, as the protocol wants it. */
const NOTHING_SAID: JsonObject = { role: 'user', parts: [{ text: ' ' }] }

interface Content {
  readonly role: 'user' | 'model'
  /** `functionResponse` parts: they go before all else that the user says. */
  readonly results: WirePart[]
  readonly parts: WirePart[]
}

/**
 * Turns as `contents`: roles alternate, the user is first, and the results of one turn's calls are together at the beginning
 * of the next turn.
 */
export class TurnsOut {
  readonly #target: Target
  readonly #contents: Content[] = []
  /** Names of the functions called so far, by the id of the call. */
  readonly #names = new Map<string, string>()
  /** What was asked for images, in the words of the canonical model. */
  readonly details: string[] = []

  constructor(target: Target) {
    this.#target = target
  }

  add(turn: Turn): void {
    if (turn.name !== undefined) this.#target.lose('participant', turn.at === undefined ? undefined : `${turn.at}.name`)
    const role = turn.role === 'assistant' ? 'model' : 'user'
    let content = this.#contents.at(-1)
    // A turn that sends nothing does not separate its neighbours.
    if (content !== undefined && content.role !== role && isEmpty(content)) {
      this.#contents.pop()
      content = this.#contents.at(-1)
    }
    if (content?.role !== role) {
      content = { role, results: [], parts: [] }
      this.#contents.push(content)
    }
    for (const part of turn.parts) this.part(content, part)
  }

  contents(): readonly Json[] {
    const contents: Json[] = []
    for (const content of this.#contents) {
      const { role, results, parts } = content
      if (role === 'model') this.sign(parts)
      if (!isEmpty(content)) contents.push({ role, parts: [...results, ...parts] })
    }
    if ((contents[0] as JsonObject | undefined)?.role === 'user') return contents
    this.#target.lose('turns', undefined, 'the user has to begin, so a turn with one blank was inserted before it')
    return [NOTHING_SAID, ...contents]
  }

  private part(content: Content, part: Part): void {
    const { at, seal } = part
    const signature = ownSignature(seal, PROTOCOL)
    if (part.cache !== undefined) this.#target.lose('cacheMarks', at)
    switch (part.type) {
      case 'text':
        if (part.text !== '' || signature !== undefined) content.parts.push(textOut(part.text, signature))
        return
      case 'refusal':
        this.#target.lose('refusals', at)
        if (part.text !== '') content.parts.push(textOut(part.text))
        return
      case 'reasoning':
        this.reasoning(content, part, signature)
        return
      case 'media':
        this.media(content, part, signature)
        return
      case 'call':
        content.parts.push(this.call(part, signature))
        return
      case 'result':
        this.result(content, part)
        return
      case 'hosted':
        if (part.of === PROTOCOL) content.parts.push(signed({ ...part.value }, signature))
        else this.#target.lose('hostedParts', at)
    }
  }

  private reasoning(content: Content, { text, seal, at }: ReasoningPart, signature: string | undefined): void {
    const isLost = text === '' && signature === undefined && seal !== undefined
    if (isLost) this.#target.lose('reasoningParts', at, 'hidden thoughts of another protocol cannot be used here')
    if (text !== '' || signature !== undefined) content.parts.push(thoughtOut(text, signature))
  }

  private media(content: Content, part: MediaPart, signature?: string): void {
    const { at } = part
    if (part.context !== undefined) this.#target.lose('documentContext', at)
    if (part.cite === true) this.#target.lose('cite', at)
    if (part.detail !== undefined) {
      this.#target.lose('imageDetail', at)
      this.details.push(part.detail)
    }
    const data = mediaData(part)
    if (data === undefined) this.#target.lose('fileId', at, 'file' in part.source ? part.source.why : undefined)
    else {
      // Data have no name here: that of a file is before it.
      if (part.kind === 'document' && part.name) content.parts.push(textOut(part.name))
      content.parts.push(signed(data, signature))
    }
  }

  private call(part: CallPart, signature: string | undefined): WirePart {
    this.#names.set(part.id, wireName(part.name, part.custom))
    return signed({ functionCall: callOut(part) }, signature)
  }

  private result(content: Content, part: ResultPart): void {
    const { id, at } = part
    const name = this.#names.get(id) ?? (part.name === undefined ? undefined : wireName(part.name, part.custom))
    if (name === undefined) throw invalid(at ?? 'contents', `no call has the id '${id.slice(0, 64)}'`)
    if (part.error === true) this.#target.lose('resultError', at)
    const media = part.parts.filter(each => each.type === 'media')
    const inside = media.filter(each => this.standsInside(each))
    const response: Record<string, Json> = { name, response: responseOf(part) }
    if (!id.startsWith(MADE_UP)) response.id = id
    for (const each of inside) {
      if (each.name) this.#target.lose('resultMedia', each.at ?? at, 'files in a result have no names')
    }
    if (inside.length > 0) response.parts = inside.flatMap(each => mediaData(each) ?? [])
    content.results.push({ functionResponse: response })
    for (const each of media) if (!inside.includes(each)) this.media(content, each)
  }

  /**
   * Models that think in levels accept bytes inside a result; older ones refuse that, so media of
   * their results go into the turn behind the results, where every model looks at them.
   */
  private standsInside({ source }: MediaPart): boolean {
    return this.#target.traits.reasoning === 'level' && 'base64' in source
  }

  /**
   * Models that think in levels refuse a turn whose first call carries no signature. Turns that another protocol's
   * upstream made have none, so their first call says that there is nothing to check. Models that are declared to think
   * by budget or not at all do not check, and get the history as it is.
   */
  private sign(parts: readonly WirePart[]): void {
    const { reasoning } = this.#target.traits
    if (reasoning === 'budget' || reasoning === 'none') return
    const calls = parts.filter(part => part.functionCall !== undefined)
    const [first] = calls
    if (first === undefined || calls.some(call => call.thoughtSignature !== undefined)) return
    first.thoughtSignature = SKIP_SIGNATURE
  }
}

function isEmpty({ results, parts }: Content): boolean {
  return results.length + parts.length === 0
}
