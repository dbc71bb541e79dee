import { compatible } from '../../families/compatible.js'
import { EVENT_STREAM, json, type Protocol } from '../../protocol.js'
import {
  type Choice,
  type Completion,
  complete,
  SERVICE_TIER,
  SYSTEM_FINGERPRINT,
  type ToolCall,
} from './completion.js'
import { readChat } from './request.js'
import { chunks } from './stream.js'

/** `POST /v1/chat/completions`, whole or as a stream that ends with `[DONE]`. */
export const chat: Protocol = {
  method: 'POST',
  path: '/v1/chat/completions',
  body: 'json',
  family: compatible,
  models: ['sim-text'],
  answer: call => {
    const request = readChat(call)
    const completion = complete(request, call)
    if (request.stream === undefined) return json(result(completion, request.legacy))
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: chunks(completion, request),
      failure: error => [{ data: JSON.stringify(compatible.body(error, call.requestId)) }],
    }
  },
}

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
