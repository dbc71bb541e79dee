import type { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { namedEvent, type StreamEvent } from '../../protocol.js'
import {
  type CallItem,
  contentPart,
  type Item,
  itemJson,
  type MessageItem,
  type ReasoningItem,
  summaryPart,
} from './items.js'
import type { Response } from './response.js'

/** The events of one response, numbered in the order in which they are made. */
export class ResponseStream {
  readonly #response: Response
  #number = 0

  constructor(response: Response) {
    this.#response = response
  }

  /** Ends with `response.completed` or `response.incomplete`; there is no other terminator. */
  *events(): Generator<StreamEvent> {
    const { items, end, object } = this.#response
    yield this.#event('response.created', { response: object('begun') })
    yield this.#event('response.in_progress', { response: object('begun') })
    for (const [index, item] of items.entries()) {
      yield this.#event('response.output_item.added', { output_index: index, item: itemJson(item, 'begun') })
      for (const [type, fields] of inner(item)) {
        yield this.#event(type, { item_id: item.id, output_index: index, ...fields })
      }
      yield this.#event('response.output_item.done', { output_index: index, item: itemJson(item, 'done') })
    }
    yield { ...this.#event(`response.${end}`, { response: object('ended') }), terminal: true }
  }

  /** How a stream that has begun breaks down: an error, then the response as failed. */
  failure(error: SimulatorError, requestId: string): readonly StreamEvent[] {
    const body = compatible.body(error, requestId)
    const { code = null, param = null } = error.details
    return [
      this.#event('error', { code, message: error.message, param, ...body }),
      this.#event('response.failed', { response: this.#response.object('failed') }),
    ]
  }

  #event(type: string, fields: object): StreamEvent {
    this.#number += 1
    return namedEvent(type, { sequence_number: this.#number - 1, ...fields })
  }
}

type Inner = readonly [type: string, fields: object]

function inner(item: Item): Iterable<Inner> {
  switch (item.kind) {
    case 'reasoning':
      return summaryEvents(item)
    case 'message':
      return messageEvents(item)
    case 'call':
      return callEvents(item)
  }
}

function* summaryEvents({ tokens }: ReasoningItem): Generator<Inner> {
  if (tokens.length === 0) return
  const text = tokens.join('')
  const at = { summary_index: 0 }
  yield ['response.reasoning_summary_part.added', { ...at, part: summaryPart('') }]
  for (const delta of tokens) yield ['response.reasoning_summary_text.delta', { ...at, delta }]
  yield ['response.reasoning_summary_text.done', { ...at, text }]
  yield ['response.reasoning_summary_part.done', { ...at, part: summaryPart(text) }]
}

function* messageEvents(item: MessageItem): Generator<Inner> {
  const { tokens, logprobs, annotations, refusal } = item
  const at = { content_index: 0 }
  yield ['response.content_part.added', { ...at, part: contentPart({ ...item, ...NOTHING }) }]
  for (const [index, delta] of tokens.entries()) {
    if (refusal) yield ['response.refusal.delta', { ...at, delta }]
    else yield ['response.output_text.delta', { ...at, delta, logprobs: logprobs.slice(index, index + 1) }]
  }
  for (const [index, annotation] of annotations.entries()) {
    yield ['response.output_text.annotation.added', { ...at, annotation_index: index, annotation }]
  }
  const text = tokens.join('')
  if (refusal) yield ['response.refusal.done', { ...at, refusal: text }]
  else yield ['response.output_text.done', { ...at, text, logprobs }]
  yield ['response.content_part.done', { ...at, part: contentPart(item) }]
}

const NOTHING = { tokens: [], logprobs: [], annotations: [] } as const

function* callEvents({ part: { tool, tokens } }: CallItem): Generator<Inner> {
  const text = tokens.join('')
  const custom = tool.kind === 'custom'
  const type = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  for (const delta of tokens) yield [`${type}.delta`, { delta }]
  yield [`${type}.done`, custom ? { input: text } : { name: (tool.within ?? tool).name, arguments: text }]
}
