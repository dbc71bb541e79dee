import type { AnswerContext } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type {
  CallPart,
  Candidate,
  MediaPart,
  Part,
  ReasoningPart,
  Seal,
  TextResult,
  TokenLogprob,
} from '../../core/text.js'
import { answeredTier } from '../compatible-settings.js'
import { urlOf } from '../media.js'
import { compact } from '../read.js'
import { detailOf, extraOf, isProof, PROTOCOL } from './reasoning.js'
import { writeAnnotation, writeEnd, writeLogprobs, writeUsage } from './result-in.js'

/** A canonical answer as CreateChatCompletionResponse. */
export function encodeResult(result: TextResult, answer: AnswerContext): JsonObject {
  const legacy = isLegacy(answer)
  return compact({
    id: idOf(result.id, answer),
    object: 'chat.completion',
    created: result.created ?? answer.now,
    model: result.model === '' ? answer.request.model : result.model,
    choices: result.candidates.map((candidate, index) => writeChoice(candidate, index, answer, legacy)),
    usage: result.usage === undefined ? undefined : writeUsage(result.usage),
    service_tier: answeredTier(result.serviceTier),
  })
}

/** The id of an answer: the gateway's, else the upstream's, else a new one. */
export function idOf(given: string, { id, newId }: Pick<AnswerContext, 'id' | 'newId'>): string {
  return id ?? (given === '' ? newId('chatcmpl-') : given)
}

/** Whether the client speaks the older form, in which an answer holds one `function_call`. */
export function isLegacy({ body }: Pick<AnswerContext, 'body'>): boolean {
  return Array.isArray(body.functions) && !Array.isArray(body.tools)
}

function writeChoice(candidate: Candidate, index: number, answer: AnswerContext, legacy: boolean): JsonObject {
  const message = new AnswerMessage(answer, legacy)
  for (const part of candidate.parts) message.add(part)
  const reason = writeEnd(candidate.end, message.refused, answer.lose)
  return {
    index,
    message: message.written(),
    logprobs: message.logprobs.length > 0 ? writeLogprobs(message.logprobs) : null,
    finish_reason: legacy && reason === 'tool_calls' ? 'function_call' : reason,
  }
}

/** The message of an answer while its parts are gathered by kind. */
class AnswerMessage {
  readonly logprobs: TokenLogprob[] = []
  readonly #answer: AnswerContext
  readonly #legacy: boolean
  #content = ''
  #spoke = false
  #refusal: string | undefined
  readonly #thoughts: ReasoningPart[] = []
  readonly #annotations: JsonObject[] = []
  readonly #images: JsonObject[] = []
  readonly #calls: CallPart[] = []
  #audio: JsonObject | undefined
  #extra: Seal | undefined

  constructor(answer: AnswerContext, legacy: boolean) {
    this.#answer = answer
    this.#legacy = legacy
  }

  get refused(): boolean {
    return this.#refusal !== undefined
  }

  add(part: Part): void {
    switch (part.type) {
      case 'text': {
        const before = this.#content.length
        this.#content += part.text
        this.#spoke = true
        for (const entry of part.logprobs ?? []) this.logprobs.push(entry)
        this.#extra = part.seal ?? this.#extra
        for (const citation of part.citations ?? []) {
          const annotation = writeAnnotation(citation, before, part.text.length)
          if (annotation === undefined) loseCitation(this.#answer)
          else this.#annotations.push(annotation)
        }
        break
      }
      case 'reasoning':
        this.#thoughts.push(part)
        break
      case 'refusal':
        this.#refusal = (this.#refusal ?? '') + part.text
        break
      case 'call':
        this.#calls.push(part)
        break
      case 'media':
        this.addMedia(part)
        break
      default:
        losePart(part, this.#answer)
    }
  }

  written(): JsonObject {
    const thoughts = this.#thoughts.map(({ text }) => text).filter(text => text !== '')
    const sealed = this.#thoughts.some(({ seal }) => seal !== undefined && isProof(seal))
    return compact({
      role: 'assistant',
      content: this.#spoke && (this.#content !== '' || this.#calls.length === 0) ? this.#content : null,
      refusal: this.#refusal ?? null,
      reasoning_content: thoughts.length > 0 ? thoughts.join('\n\n') : undefined,
      reasoning_details: sealed ? this.#thoughts.map(part => detailOf(part)) : undefined,
      annotations: this.#annotations.length > 0 ? this.#annotations : undefined,
      images: this.#images.length > 0 ? this.#images : undefined,
      audio: this.#audio,
      ...this.writtenCalls(),
      extra_content: this.#extra === undefined ? undefined : extraOf(this.#extra),
    })
  }

  private writtenCalls(): Record<string, Json | undefined> {
    const [first, ...others] = this.#calls
    if (first === undefined) return {}
    if (!this.#legacy) return { tool_calls: this.#calls.map(writeCall) }
    if (others.length > 0) loseCalls(this.#answer)
    return { function_call: { name: first.name, arguments: first.arguments || '{}' } }
  }

  private addMedia(part: MediaPart): void {
    if (part.kind === 'audio') this.#audio = writeAudio(part, this.#answer)
    else if (part.kind === 'image') this.#images.push(writeImage(part))
    else losePart(part, this.#answer)
  }
}

function writeCall(call: CallPart): JsonObject {
  const { id, name } = call
  const extra = call.seal === undefined ? {} : { extra_content: extraOf(call.seal) }
  if (call.custom === true) return { id, type: 'custom', custom: { name, input: call.arguments }, ...extra }
  return { id, type: 'function', function: { name, arguments: call.arguments || '{}' }, ...extra }
}

export function writeImage(part: MediaPart): JsonObject {
  return { type: 'image_url', image_url: { url: urlOf(part, 'image/png') ?? '' } }
}

/** Audio of another protocol cannot be named in a later turn: it expires at once. */
export function writeAudio(part: MediaPart, answer: AnswerContext): JsonObject {
  return {
    id: part.seal?.by === PROTOCOL ? part.seal.value : answer.newId('audio_'),
    expires_at: answer.now,
    data: 'base64' in part.source ? part.source.base64 : '',
    transcript: part.transcript ?? '',
  }
}

export function losePart(part: Part, { lose }: AnswerContext): void {
  lose(part.type === 'media' ? part.kind : part.type, 'chat answers have no place for it')
}

export function loseCitation({ lose }: AnswerContext): void {
  lose('citations', 'chat cites only URLs')
}

export function loseCalls({ lose }: AnswerContext): void {
  lose('calls', 'an answer has at most one function_call')
}
