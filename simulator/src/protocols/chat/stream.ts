import type { StreamEvent } from '../../protocol.js'
import { type Choice, type Completion, SERVICE_TIER, SYSTEM_FINGERPRINT, type ToolCall } from './completion.js'
import type { ChatRequest } from './request.js'

const DONE: StreamEvent = { data: '[DONE]', terminal: true }

/** The chunks of a stream: the choices take turns, a token each; the usage, where it is wanted, comes last. */
export function* chunks(completion: Completion, { stream, legacy }: ChatRequest): Generator<StreamEvent> {
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
    yield { data: JSON.stringify({ ...head, choices: [choice], ...tail }) }
  }
  if (stream?.includeUsage) yield { data: JSON.stringify({ ...head, choices: [], usage }) }
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
    const told = logprob === undefined ? null : { content: [logprob], refusal: null }
    return { index, delta, logprobs: told, finish_reason: finished }
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
