import { seal } from '../../seals.js'
import { type Seed, stampedId } from '../../seed.js'
import type { CallPart, ReplyPart, TextPart, TextReply } from '../../text/conversation.js'
import { logprobOf } from '../../text/tokens.js'
import type { ResponsesRequest } from './request.js'

/** An item of the output. */
export type Item = ReasoningItem | MessageItem | CallItem

export interface ReasoningItem {
  readonly kind: 'reasoning'
  readonly id: string
  /** The summary's tokens; empty without one. */
  readonly tokens: readonly string[]
  readonly sealed: string | undefined
}

export interface MessageItem {
  readonly kind: 'message'
  readonly id: string
  readonly tokens: readonly string[]
  /** One for each token, or none at all. */
  readonly logprobs: readonly object[]
  readonly annotations: readonly object[]
  /** Whether the message refuses, and its text says why. */
  readonly refusal: boolean
  readonly whole: boolean
}

export interface CallItem {
  readonly kind: 'call'
  readonly id: string
  readonly callId: string
  readonly part: CallPart
  readonly whole: boolean
}

/** The items of a reply, in order. A message that the limit leaves no room for is left out. */
export function itemsOf(reply: TextReply, request: ResponsesRequest): readonly Item[] {
  const short = reply.finish === 'length'
  const parts = reply.parts.filter(part => part.type !== 'text' || part.tokens.length > 0 || !short)
  return parts.map((part, index) => {
    const seed = request.text.seed.fork('item', index)
    return item(part, seed, request, !(short && index === parts.length - 1))
  })
}

/** An id that can be referred to later, or one that cannot. */
export function idOf(prefix: string, seed: Seed, store: boolean): string {
  return store ? stampedId(prefix, seed) : `${prefix}${seed.hex(48)}`
}

function item(part: ReplyPart, seed: Seed, request: ResponsesRequest, whole: boolean): Item {
  const { store, summary, sealed, logprobs } = request
  switch (part.type) {
    case 'reasoning': {
      const sealedText = sealed ? seal('responses.reasoning', part.tokens.join('')) : undefined
      return { kind: 'reasoning', id: idOf('rs_', seed, store), tokens: summary ? part.tokens : [], sealed: sealedText }
    }
    case 'text': {
      const shown = logprobs === undefined ? [] : part.tokens.map((token, at) => logprobOf(token, at, logprobs, seed))
      return message(idOf('msg_', seed, store), part.tokens, { logprobs: shown, annotations: citation(part), whole })
    }
    case 'refusal':
      return message(idOf('msg_', seed, store), part.tokens, { refusal: true, whole })
    case 'call': {
      const prefix = part.tool.kind === 'custom' ? 'ctc_' : 'fc_'
      const callId = `call_${seed.fork('call').letters(24)}`
      return { kind: 'call', id: idOf(prefix, seed, store), callId, part, whole }
    }
  }
}

function message(id: string, tokens: readonly string[], more: Partial<MessageItem>): MessageItem {
  return { kind: 'message', id, tokens, logprobs: [], annotations: [], refusal: false, whole: true, ...more }
}

function citation({ citation }: TextPart): readonly object[] {
  if (citation === undefined) return []
  const { end, url, title } = citation
  return [{ type: 'url_citation', start_index: 0, end_index: end, url, title }]
}

/** An item as the wire has it: as it is begun, or as it ends. */
export function itemJson(item: Item, state: 'begun' | 'done'): object {
  const done = state === 'done'
  const text = textOf(item, done)
  const status = done ? ('whole' in item && !item.whole ? 'incomplete' : 'completed') : 'in_progress'
  switch (item.kind) {
    case 'reasoning':
      return { id: item.id, type: 'reasoning', summary: text === '' ? [] : [summaryPart(text)], ...sealOf(item) }
    case 'message':
      return { id: item.id, type: 'message', status, role: 'assistant', content: done ? [contentPart(item)] : [] }
    case 'call': {
      const { name, kind, within = { name } } = item.part.tool
      const shape =
        kind === 'custom' ? { type: 'custom_tool_call', input: text } : { type: 'function_call', arguments: text }
      return { id: item.id, status, call_id: item.callId, ...within, ...shape }
    }
  }
}

export function summaryPart(text: string): object {
  return { type: 'summary_text', text }
}

/** The one part of a message. */
export function contentPart(item: Pick<MessageItem, 'tokens' | 'logprobs' | 'annotations' | 'refusal'>): object {
  const text = item.tokens.join('')
  if (item.refusal) return { type: 'refusal', refusal: text }
  return { type: 'output_text', annotations: item.annotations, logprobs: item.logprobs, text }
}

function textOf(item: Item, done: boolean): string {
  if (!done) return ''
  return (item.kind === 'call' ? item.part : item).tokens.join('')
}

function sealOf({ sealed }: ReasoningItem): object {
  return sealed === undefined ? {} : { encrypted_content: sealed }
}
