import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Answerer, Call } from './scripted-upstreams.js'
import type { ScriptedAnswer } from './test-file.js'

/** What a model says: a text, a call of a tool, or an answer as a whole, such as `{ status: 429 }`. */
export type Said = string | ToolCall | ScriptedAnswer

export interface ToolCall {
  readonly tool: string
  readonly arguments?: JsonObject
}

/** An answer to every request, answers in turn (the last one repeats), or a function of the request. */
export type ScriptedModel = Said | readonly Said[] | ((call: Call) => Said)

/** Characters of a text for each token of the usage, and of each piece of a stream. */
const CHARACTERS_A_TOKEN = 4
const CHARACTERS_A_PIECE = 8
/** Seconds since the epoch: the same in all answers. */
const CREATED_S = 1_700_000_000

/** The upstream of scripted models: it answers in the chat protocol, as a stream if the request asks for one. */
export function answerer(models: Readonly<Record<string, ScriptedModel>>): Answerer {
  const asked = new Map<string, number>()
  return call => {
    const body = isObject(call.body) ? call.body : {}
    const name = typeof body.model === 'string' ? body.model : ''
    const times = asked.get(name) ?? 0
    asked.set(name, times + 1)
    const said = saidBy(models[name], call, times)
    if (said === undefined) return { status: 404, body: { error: { message: `no model ${name} is scripted` } } }
    if (typeof said !== 'string' && !('tool' in said)) return said
    return body.stream === true ? { events: eventsOf(name, said, body) } : { body: wholeOf(name, said, body) }
  }
}

function saidBy(model: ScriptedModel | undefined, call: Call, times: number): Said | undefined {
  if (typeof model === 'function') return model(call)
  return isList(model) ? model[Math.min(times, model.length - 1)] : model
}

function isList(model: ScriptedModel | undefined): model is readonly Said[] {
  return Array.isArray(model)
}

function wholeOf(model: string, said: string | ToolCall, request: JsonObject): JsonObject {
  const message = typeof said === 'string' ? { content: said } : { content: null, tool_calls: [callOf(said)] }
  return {
    ...head(model, 'chat.completion'),
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason(said) }],
    usage: usageOf(said, request),
  }
}

function eventsOf(model: string, said: string | ToolCall, request: JsonObject): readonly Json[] {
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...head(model, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const pieces =
    typeof said === 'string'
      ? (said.match(new RegExp(`[\\s\\S]{1,${CHARACTERS_A_PIECE}}`, 'gu')) ?? []).map(content => chunk({ content }))
      : [chunk({ tool_calls: [{ index: 0, ...callOf(said) }] })]
  const usage = { ...head(model, 'chat.completion.chunk'), choices: [], usage: usageOf(said, request) }
  return [chunk({ role: 'assistant', content: '' }), ...pieces, chunk({}, reason(said)), usage, '[DONE]']
}

function head(model: string, object: string): JsonObject {
  return { id: 'chatcmpl-test', object, created: CREATED_S, model }
}

function callOf({ tool, arguments: given = {} }: ToolCall): JsonObject {
  return { id: 'call_test', type: 'function', function: { name: tool, arguments: JSON.stringify(given) } }
}

function reason(said: string | ToolCall): string {
  return typeof said === 'string' ? 'stop' : 'tool_calls'
}

function usageOf(said: string | ToolCall, { messages = [] }: JsonObject): JsonObject {
  const tokens = (value: Json): number => Math.max(1, Math.ceil(JSON.stringify(value).length / CHARACTERS_A_TOKEN))
  const [input, output] = [tokens(messages), tokens(typeof said === 'string' ? said : callOf(said))]
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}
