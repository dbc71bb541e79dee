import { compatible } from '../../families/compatible.js'
import { DONE, dataEvent, endpoint, eventStream, json, type StreamEvent } from '../../protocol.js'
import {
  type Choice,
  type Completion,
  complete,
  SERVICE_TIER,
  SYSTEM_FINGERPRINT,
  type ToolCall,
} from './completion.js'
import { type ChatRequest, readChat } from './request.js'

/** `POST /v1/chat/completions`, whole or as a stream that ends with `[DONE]`. */
export const chat = endpoint(compatible, 'POST /v1/chat/completions', { body: 'json', models: ['sim-text'] }, call => {
  const request = readChat(call)
  const completion = complete(request, call)
  if (request.stream === undefined) return json(result(completion, request.legacy))
  return eventStream(chunks(completion, request), error => [dataEvent(compatible.body(error, call.requestId))])
})

/** The body of an answer that is sent whole. */
function result({ id, created, model, choices, usage }: Completion, legacy: boolean): object {
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: choices.map(choice => ({
      index: choice.index,
      message: message(choice, legacy),
      logprobs: choice.logprobs === undefined ? null : { content: choice.logprobs, refusal: null },
      finish_reason: choice.finish,
    })),
    usage,
    service_tier: SERVICE_TIER,
    system_fingerprint: SYSTEM_FINGERPRINT,
  }
}

function message({ text, calls, reasoning, refusal, annotations, images }: Choice, legacy: boolean): object {
  const [first] = calls
  return {
    role: 'assistant',
    content: text?.join('') ?? null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning.join('') }),
    ...(first === undefined
      ? {}
      : legacy
        ? { function_call: body(first).content }
        : { tool_calls: calls.map(toolCall) }),
    refusal: refusal?.join('') ?? null,
    annotations,
    ...(images.length > 0 && { images }),
  }
}

function toolCall(call: ToolCall): object {
  const { kind, content } = body(call)
  return { id: call.id, type: kind, [kind]: content }
}

function body({ part: { tool, tokens } }: ToolCall): { kind: string; content: object } {
  const text = tokens.join('')
  return { kind: tool.kind, content: { name: tool.name, [tool.kind === 'custom' ? 'input' : 'arguments']: text } }
}

/** The chunks of a stream: the choices take turns, a token each; the usage, where it is wanted, comes last. */
function* chunks(completion: Completion, { stream, legacy }: ChatRequest): Generator<StreamEvent> {
  const { id, created, model, choices, usage } = completion
  const head = {
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    service_tier: SERVICE_TIER,
    system_fingerprint: SYSTEM_FINGERPRINT,
  }
  const tail = stream?.includeUsage ? { usage: null } : {}
  for (const choice of interleaved(choices.map(each => deltas(each, legacy)))) {
    yield dataEvent({ ...head, choices: [choice], ...tail })
  }
  if (stream?.includeUsage) yield dataEvent({ ...head, choices: [], usage })
  yield DONE
}

function* deltas(choice: Choice, legacy: boolean): Generator<object> {
  const { index, text, calls, logprobs, finish, reasoning = [], refusal = [], annotations, images } = choice
  yield chunk({ role: 'assistant', content: text === undefined ? null : '', refusal: null })
  for (const token of reasoning) yield chunk({ reasoning_content: token })
  for (const token of refusal) yield chunk({ refusal: token })
  for (const [at, token] of (text ?? []).entries()) yield chunk({ content: token }, logprobs?.[at])
  if (annotations.length > 0) yield chunk({ annotations })
  if (images.length > 0) yield chunk({ images })
  for (const [at, call] of calls.entries()) {
    for (const delta of legacy ? functionDeltas(call) : callDeltas(call, at)) yield chunk(delta)
  }
  yield chunk({}, undefined, finish)

  function chunk(delta: object, logprob?: object, finished: string | null = null): object {
    const logprobs = logprob === undefined ? null : { content: [logprob], refusal: null }
    return { index, delta, logprobs, finish_reason: finished }
  }
}

function* callDeltas({ id, part: { tool, tokens } }: ToolCall, index: number): Generator<object> {
  const text = tool.kind === 'custom' ? 'input' : 'arguments'
  yield { tool_calls: [{ index, id, type: tool.kind, [tool.kind]: { name: tool.name, [text]: '' } }] }
  for (const token of tokens) yield { tool_calls: [{ index, [tool.kind]: { [text]: token } }] }
}

function* functionDeltas({ part: { tool, tokens } }: ToolCall): Generator<object> {
  yield { function_call: { name: tool.name, arguments: '' } }
  for (const token of tokens) yield { function_call: { arguments: token } }
}

function* interleaved<T>(sources: readonly Iterator<T>[]): Generator<T> {
  let open = sources
  while (open.length > 0) {
    const taken = open.map(source => ({ source, next: source.next() })).filter(({ next }) => !next.done)
    for (const { next } of taken) yield next.value
    open = taken.map(({ source }) => source)
  }
}
