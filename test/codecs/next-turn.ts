import type { Frame, TextCodec } from '../../src/core/codec.js'
import { isObject, type Json, type JsonObject } from '../../src/core/json.js'
import type { Seal } from '../../src/core/text.js'

/** The next request of a client that sends an answer back unchanged, with results for its calls. */
export function nextTurn(protocol: string, answer: JsonObject): JsonObject {
  switch (protocol) {
    case 'chat': {
      const message = at(answer, 'choices', 0, 'message')
      const results = list(at(message, 'tool_calls')).map(call => ({
        role: 'tool',
        tool_call_id: at(call, 'id') ?? '',
        content: 'Done.',
      }))
      return { model: 'm', messages: [{ role: 'user', content: 'Go.' }, message ?? null, ...results] }
    }
    case 'responses': {
      const output = list(answer.output)
      const results = output
        .filter(item => ['function_call', 'custom_tool_call'].includes(String(at(item, 'type'))))
        .map(item => ({ type: `${at(item, 'type')}_output`, call_id: at(item, 'call_id') ?? '', output: 'Done.' }))
      return { model: 'm', input: [{ role: 'user', content: 'Go.' }, ...output, ...results] }
    }
    case 'messages': {
      const content = list(answer.content)
      const results = content
        .filter(block => at(block, 'type') === 'tool_use')
        .map(block => ({ type: 'tool_result', tool_use_id: at(block, 'id') ?? '', content: 'Done.' }))
      const turns = [
        { role: 'user', content: 'Go.' },
        { role: 'assistant', content },
        { role: 'user', content: results.length > 0 ? results : 'And then?' },
      ]
      return { model: 'm', max_tokens: 100, messages: turns }
    }
    case 'converse': {
      const content = list(at(answer, 'output', 'message', 'content'))
      const results = content.flatMap(block => {
        const id = at(block, 'toolUse', 'toolUseId')
        return id === undefined ? [] : [{ toolResult: { toolUseId: id, content: [{ text: 'Done.' }] } }]
      })
      const turns = [
        { role: 'user', content: [{ text: 'Go.' }] },
        { role: 'assistant', content },
        { role: 'user', content: results.length > 0 ? results : [{ text: 'And then?' }] },
      ]
      return { messages: turns }
    }
    default: {
      const parts = list(at(answer, 'candidates', 0, 'content', 'parts'))
      const results = parts.flatMap(part => {
        const call = at(part, 'functionCall')
        const [id, name] = [at(call, 'id'), at(call, 'name')]
        if (name === undefined) return []
        return [{ functionResponse: { ...(id !== undefined && { id }), name, response: { output: 'Done.' } } }]
      })
      const contents = [
        { role: 'user', parts: [{ text: 'Go.' }] },
        { role: 'model', parts },
        { role: 'user', parts: results.length > 0 ? results : [{ text: 'And then?' }] },
      ]
      return { contents }
    }
  }
}

/** The answer that a client puts together from a stream, for its next turn. */
export function assembled(protocol: string, frames: readonly Frame[]): JsonObject {
  const events = frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as JsonObject)
  switch (protocol) {
    case 'chat':
      return chatAnswer(events)
    case 'responses': {
      const last = events.at(-1)
      return isObject(last?.response) ? last.response : {}
    }
    case 'messages':
      return { content: blocks(events) }
    case 'converse':
      return { output: { message: { content: converseBlocks(events) } } }
    default:
      return {
        candidates: [
          { content: { parts: events.flatMap(event => list(at(event, 'candidates', 0, 'content', 'parts'))) } },
        ],
      }
  }
}

/** As raw clients put it together: texts are joined, entries follow each other, calls go by their index. */
function chatAnswer(chunks: readonly JsonObject[]): JsonObject {
  const message: Record<string, Json> = { role: 'assistant', content: null }
  const calls: Record<string, Json>[] = []
  for (const delta of chunks.map(chunk => at(chunk, 'choices', 0, 'delta'))) {
    for (const name of ['content', 'reasoning_content']) {
      const text = at(delta, name)
      if (typeof text === 'string' && text !== '') message[name] = String(message[name] ?? '') + text
    }
    const details = list(at(delta, 'reasoning_details'))
    if (details.length > 0) message.reasoning_details = [...list(message.reasoning_details), ...details]
    const extra = at(delta, 'extra_content')
    if (extra !== undefined) message.extra_content = extra
    for (const piece of list(at(delta, 'tool_calls'))) {
      const { index, function: called, custom, ...rest } = piece as JsonObject
      const before = calls[Number(index)] ?? {}
      const [kind, text] = 'custom' in before || custom !== undefined ? ['custom', 'input'] : ['function', 'arguments']
      const said = String(at(before, kind, text) ?? '') + String(at(custom ?? called, text) ?? '')
      const name = at(before, kind, 'name') ?? at(custom ?? called, 'name') ?? ''
      calls[Number(index)] = { ...before, ...rest, [kind]: { name, [text]: said } }
    }
  }
  if (calls.length > 0) message.tool_calls = calls
  return { choices: [{ message }] }
}

/** Content blocks, each with its deltas. */
function blocks(events: readonly JsonObject[]): readonly Json[] {
  const found: Record<string, Json>[] = []
  const json = new Map<number, string>()
  for (const event of events) {
    const index = Number(event.index)
    if (event.type === 'content_block_start') found[index] = { ...(event.content_block as JsonObject) }
    const block = found[index]
    if (event.type !== 'content_block_delta' || block === undefined) continue
    const { text, thinking, signature, partial_json } = event.delta as Readonly<Record<string, string | undefined>>
    if (text !== undefined) block.text = String(block.text) + text
    if (thinking !== undefined) block.thinking = String(block.thinking) + thinking
    if (signature !== undefined) block.signature = signature
    if (partial_json !== undefined) json.set(index, (json.get(index) ?? '') + partial_json)
  }
  for (const [index, text] of json)
    if (found[index] !== undefined && text !== '') found[index].input = JSON.parse(text) as Json
  return found
}

/** Blocks of a stream of `converse`, which begin with their first delta where nothing else begins them. */
function converseBlocks(events: readonly JsonObject[]): readonly Json[] {
  const found: Record<string, Json>[] = []
  for (const { contentBlockIndex, start, delta } of events) {
    const index = Number(contentBlockIndex)
    if (isObject(start)) found[index] = { ...start }
    if (!isObject(delta)) continue
    found[index] ??= {}
    const block = found[index]
    const thought = at(delta, 'reasoningContent')
    const source = at(delta, 'image', 'source')
    if (isObject(block.image) && source !== undefined) block.image = { ...block.image, source }
    const input = at(delta, 'toolUse', 'input')
    if (typeof delta.text === 'string') block.text = String(block.text ?? '') + delta.text
    if (typeof input === 'string') block.json = String(block.json ?? '') + input
    if (!isObject(thought)) continue
    if (typeof thought.redactedContent === 'string') block.reasoningContent = thought
    else {
      const before = at(block, 'reasoningContent', 'reasoningText')
      const text = String(at(before, 'text') ?? '') + String(thought.text ?? '')
      const signature = thought.signature ?? at(before, 'signature')
      block.reasoningContent = { reasoningText: { text, ...(signature !== undefined && { signature }) } }
    }
  }
  return found.map(({ json, ...block }) =>
    isObject(block.toolUse)
      ? { toolUse: { ...block.toolUse, input: JSON.parse(String(json ?? '{}')) as Json } }
      : block,
  )
}

/** Seals that a server of this protocol finds in the next turn after this answer, each once. */
export function sealsBack(codec: TextCodec, answer: JsonObject): readonly Seal[] {
  const request = codec.server.decodeRequest(nextTurn(codec.protocol, answer), { model: 'm', stream: false })
  return unique(request.turns.flatMap(({ parts }) => parts.flatMap(({ seal }) => (seal === undefined ? [] : [seal]))))
}

export function unique(seals: readonly Seal[]): readonly Seal[] {
  const byText = new Map(seals.map(seal => [`${seal.by} ${seal.value}`, seal]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, seal]) => seal)
}

function at(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let found: Json | undefined = value
  for (const step of path) {
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(step)]
    else found = isObject(found) ? found[String(step)] : undefined
  }
  return found
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}
