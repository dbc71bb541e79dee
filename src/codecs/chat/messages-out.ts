import type { Target } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { CallPart, MediaPart, Part, ReasoningPart, ResultPart, TextRequest, Turn } from '../../core/text.js'
import { compact } from '../read.js'
import { asContent, writeContent, writeMedia } from './content-out.js'
import { detailOf, extraOf, memberOf, PROTOCOL } from './reasoning.js'

/** Instructions and turns as `messages`. Throws `untranslatable` where there are none. */
export function writeMessages(request: TextRequest, target: Target): JsonObject[] {
  if (request.turns.length === 0 && request.system.length === 0) {
    throw new GatewayError('untranslatable', 'The model needs at least one message.')
  }
  const role = target.traits.system_role ?? 'system'
  const messages: JsonObject[] = []
  if (request.system.length > 0) messages.push({ role, content: writeContent(request.system, target) })
  const last = request.turns.at(-1)
  if (last?.role === 'assistant') target.lose('prefill', last.at)
  for (let i = 0; i < request.turns.length; ) {
    const turn = request.turns[i]
    if (turn === undefined) break
    if (turn.role === 'user') {
      const end = endOfRun(request.turns, i)
      for (const message of writeUserTurns(request.turns.slice(i, end), target)) messages.push(message)
      i = end
      continue
    }
    if (turn.role === 'assistant') messages.push(writeAssistant(turn, target))
    else messages.push(named({ role, content: writeContent(turn.parts, target) }, turn))
    i += 1
  }
  return messages
}

function endOfRun(turns: readonly Turn[], start: number): number {
  let end = start
  while (turns[end]?.role === 'user') end += 1
  return end
}

function named(message: JsonObject, { name }: Turn): JsonObject {
  return name === undefined ? message : { ...message, name }
}

/**
 * Neighbouring turns of the user: the results first, a message each, because nothing may be between them and the calls;
 * then the media that they held, and then what the user said.
 */
function writeUserTurns(turns: readonly Turn[], target: Target): JsonObject[] {
  const results = turns.flatMap(({ parts }) => parts.filter((part): part is ResultPart => part.type === 'result'))
  const media: JsonObject[] = []
  const messages: JsonObject[] = results.map(result => writeResult(result, media, target))
  if (media.length > 0) messages.push({ role: 'user', content: media })
  for (const turn of turns) {
    const said = turn.parts.filter(({ type }) => type !== 'result')
    if (said.length === 0 && turn.parts.length > 0) continue
    messages.push(named({ role: 'user', content: writeContent(said, target) }, turn))
  }
  return messages
}

/** A result as a message of the tool, which holds text alone: media go to `media`, with a word on whose they are. */
function writeResult(result: ResultPart, media: JsonObject[], target: Target): JsonObject {
  if (result.cache !== undefined) target.lose('cacheMarks', result.at)
  if (result.error === true) target.lose('resultError', result.at)
  const texts: Part[] = []
  for (const part of result.parts) {
    if (part.type === 'text') texts.push(part)
    else texts.push({ type: 'text', text: moveMedia(part, result, media, target) })
  }
  const [first, ...rest] = texts
  const error = result.error === true
  const start: Part = { type: 'text', text: `${error ? 'Error: ' : ''}${first?.type === 'text' ? first.text : ''}` }
  return { role: 'tool', tool_call_id: result.id, content: writeContent([{ ...first, ...start }, ...rest], target) }
}

function moveMedia(part: MediaPart, result: ResultPart, media: JsonObject[], target: Target): string {
  target.lose('resultMedia', part.at ?? result.at)
  const written = writeMedia(part, target)
  if (written.length === 0) return `[${part.kind} left out]`
  media.push({ type: 'text', text: `The ${part.kind} that the tool call ${result.id} answered:` }, ...written)
  return `[${part.kind}: see the next message of the user]`
}

function writeAssistant(turn: Turn, target: Target): JsonObject {
  const message = new AssistantMessage(target)
  for (const part of turn.parts) message.add(part)
  return named(message.written(), turn)
}

/** An assistant's message while its parts are gathered by kind, as the protocol wants them. */
class AssistantMessage {
  readonly #target: Target
  readonly #content: JsonObject[] = []
  readonly #calls: JsonObject[] = []
  readonly #details: JsonObject[] = []
  readonly #thoughts: { reasoning_content: string[]; reasoning: string[] } = { reasoning_content: [], reasoning: [] }
  readonly #refusals: string[] = []
  #audio: string | undefined
  #extra: JsonObject | undefined

  constructor(target: Target) {
    this.#target = target
  }

  add(part: Part): void {
    if (part.cache !== undefined) this.#target.lose('cacheMarks', part.at)
    switch (part.type) {
      case 'text':
        this.#content.push({ type: 'text', text: part.text })
        this.#extra = this.usableSeal(part) ?? this.#extra
        break
      case 'refusal':
        this.#refusals.push(part.text)
        break
      case 'reasoning':
        this.addReasoning(part)
        break
      case 'call':
        this.#calls.push(this.writeCall(part))
        break
      case 'media':
        this.addMedia(part)
        break
      case 'hosted':
        this.#target.lose('hostedParts', part.at)
        break
      case 'result':
        break
    }
  }

  written(): JsonObject {
    const said = this.#content.some(part => part.text !== '' || part.type !== 'text')
    const silent = this.#calls.length > 0 || this.#refusals.length > 0 || this.#audio !== undefined
    return compact({
      role: 'assistant',
      reasoning_content: joined(this.#thoughts.reasoning_content),
      reasoning: joined(this.#thoughts.reasoning),
      reasoning_details: this.#details.length > 0 ? this.#details : undefined,
      content: said || !silent ? asContent(this.#content) : null,
      refusal: joined(this.#refusals),
      audio: this.#audio === undefined ? undefined : { id: this.#audio },
      tool_calls: this.#calls.length > 0 ? this.#calls : undefined,
      extra_content: this.#extra,
    })
  }

  private addReasoning(part: ReasoningPart): void {
    const { seal } = part
    if (this.#target.traits.reasoning === 'none') {
      this.#target.lose('reasoningParts', part.at, 'the model does not accept thoughts')
    } else if (seal === undefined) this.#thoughts.reasoning_content.push(part.text)
    else if (seal.by !== PROTOCOL) this.#target.lose('reasoningParts', part.at)
    else {
      const member = memberOf(seal)
      if (member === undefined) this.#details.push(detailOf(part))
      else if (member !== 'thinking') this.#thoughts[member].push(part.text)
      else this.#content.push({ type: 'thinking', thinking: [{ type: 'text', text: part.text }] })
    }
  }

  private writeCall(part: CallPart): JsonObject {
    const extra = this.usableSeal(part)
    const { id, name } = part
    const tail = extra === undefined ? {} : { extra_content: extra }
    if (part.custom === true) return { id, type: 'custom', custom: { name, input: part.arguments }, ...tail }
    return { id, type: 'function', function: { name, arguments: part.arguments || '{}' }, ...tail }
  }

  /** What the upstream wants back with a text or a call; other protocols' proofs mean nothing to it. */
  private usableSeal(part: Part): JsonObject | undefined {
    if (part.seal === undefined) return undefined
    if (part.seal.by === PROTOCOL) return extraOf(part.seal)
    this.#target.lose('reasoningParts', part.at, 'a signature of another protocol cannot be used here')
    return undefined
  }

  /** Of media, a message of the assistant can only name the audio that the upstream itself made. */
  private addMedia(part: MediaPart): void {
    const { source, seal } = part
    if (part.kind === 'audio' && 'file' in source && source.of === PROTOCOL) this.#audio = source.file
    else if (part.kind === 'audio' && seal?.by === PROTOCOL) this.#audio = seal.value
    else if (part.transcript !== undefined) this.#content.push({ type: 'text', text: part.transcript })
    else this.#target.lose(fieldOfMedia(part), part.at, 'an assistant message cannot contain media')
  }
}

function fieldOfMedia({
  kind,
  source,
}: MediaPart): 'imageUrl' | 'imageData' | 'audioData' | 'videoData' | 'documentData' {
  switch (kind) {
    case 'image':
      return 'url' in source ? 'imageUrl' : 'imageData'
    case 'audio':
      return 'audioData'
    case 'video':
      return 'videoData'
    case 'document':
      return 'documentData'
  }
}

function joined(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : texts.join('\n\n')
}
