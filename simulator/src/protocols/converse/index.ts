import { conversations } from '../../families/converse.js'
import { isObject, type Json, parseJson } from '../../json.js'
import { type Call, type EventStream, endpoint, json, type Protocol, type StreamEvent } from '../../protocol.js'
import { seal } from '../../seals.js'
import type { ReplyPart, TextReply, TextRequest } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import { readRequest } from './request.js'

const OPTIONS = { body: 'json', operation: '/model/{id}/converse' } as const

const converse = endpoint(
  conversations,
  'POST /model/{id}/converse',
  { ...OPTIONS, models: ['sim-converse'] },
  call => {
    const { blocks, ...rest } = reply(call)
    const message = { role: 'assistant', content: blocks.map(({ whole }) => whole) }
    return json({ output: { message }, ...rest, metrics: { latencyMs: LATENCY_MS } })
  },
)

const converseStream = endpoint(conversations, 'POST /model/{id}/converse-stream', OPTIONS, call => {
  const answer = reply(call)
  return {
    kind: 'events',
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    writing: 'eventstream',
    events: events(answer),
    failure: error => [event('internalServerException', { message: error.message })],
  } satisfies EventStream
})

export const CONVERSE: readonly Protocol[] = [converse, converseStream]

/** No time goes by in the simulator. */
const LATENCY_MS = 1

interface Block {
  /** What begins the block in a stream; texts and thoughts begin with their first piece. */
  readonly start?: object
  readonly deltas: readonly object[]
  readonly whole: object
}

interface Reply {
  readonly blocks: readonly Block[]
  readonly stopReason: string
  /** Nothing where the tester wants none. */
  readonly usage: object | undefined
}

const REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  refusal: 'content_filtered',
  blocked: 'guardrail_intervened',
} as const

function reply(call: Call): Reply {
  const request = readRequest(call)
  const answer = compose(request)
  return {
    blocks: answer.parts.flatMap((part, at) => blockOf(part, at, request)),
    stopReason: answer.stopped === undefined ? REASONS[answer.finish] : 'stop_sequence',
    usage: spoiled(usageOf(request, answer), call.faults),
  }
}

function usageOf(request: TextRequest, { output }: TextReply): object {
  const { input } = promptTokens(request)
  return { inputTokens: input, outputTokens: output, totalTokens: input + output }
}

function blockOf(part: ReplyPart, at: number, request: TextRequest): readonly Block[] {
  const said = part.tokens.join('')
  switch (part.type) {
    case 'reasoning': {
      const signature = seal('converse.thinking', said)
      return [
        {
          deltas: [...part.tokens.map(text => ({ text })), { signature }].map(piece => ({ reasoningContent: piece })),
          whole: { reasoningContent: { reasoningText: { text: said, signature } } },
        },
      ]
    }
    case 'text':
    case 'refusal':
      return said === '' ? [] : [{ deltas: part.tokens.map(text => ({ text })), whole: { text: said } }]
    case 'call': {
      const head = { toolUseId: `tooluse_${request.seed.fork('call', at).letters(22)}`, name: part.tool.name }
      return [
        {
          start: { toolUse: head },
          deltas: part.tokens.map(input => ({ toolUse: { input } })),
          whole: { toolUse: { ...head, input: parsed(said) } },
        },
      ]
    }
  }
}

/** Arguments that the limit has cut are none. */
function parsed(text: string): Json {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}

function* events({ blocks, stopReason, usage }: Reply): Generator<StreamEvent> {
  yield event('messageStart', { role: 'assistant' })
  for (const [contentBlockIndex, { start, deltas }] of blocks.entries()) {
    if (start !== undefined) yield event('contentBlockStart', { contentBlockIndex, start })
    for (const delta of deltas) yield event('contentBlockDelta', { contentBlockIndex, delta })
    yield event('contentBlockStop', { contentBlockIndex })
  }
  yield event('messageStop', { stopReason })
  yield { ...event('metadata', { usage, metrics: { latencyMs: LATENCY_MS } }), terminal: true }
}

function event(name: string, fields: object): StreamEvent {
  return { event: name, data: JSON.stringify(fields) }
}
