import type { JsonObject } from '../json.js'
import type { Seed } from '../seed.js'

/** What the text model is asked, whichever protocol asked it. */
export interface TextRequest {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice
  /** Whether one answer may hold several calls. */
  readonly parallel: boolean
  readonly format: Format
  /** Most output tokens, reasoning included. */
  readonly limit: number | undefined
  readonly stop: readonly string[]
  /** `low`, `medium`, `high`, …; absent or `none`: the model does not reason. */
  readonly effort: string | undefined
  /** Exact length of the text, in tokens, where the tester has asked for one. */
  readonly length: number | undefined
  readonly seed: Seed
}

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly Part[]
}

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'media'; readonly media: Media }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly arguments: string }
  | ResultPart

/** What a tool gave back. */
export interface ResultPart {
  readonly type: 'result'
  readonly id: string
  readonly text: string
  readonly media?: readonly Media[]
  /** Whether the tool says that it failed. */
  readonly failed?: boolean
}

/** An image, a sound or a file that came with a turn. `bytes` is known only where the data itself came. */
export interface Media {
  readonly kind: 'image' | 'audio' | 'file'
  readonly type: string | undefined
  readonly bytes: number | undefined
}

export interface Tool {
  /** A `function` takes JSON arguments after its schema, a `custom` tool any text. */
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly description?: string | undefined
  readonly schema: JsonObject | undefined
  /** What a tool of a group is called in calls; `name` is both names joined, as a prompt has it. */
  readonly within?: { readonly namespace: string; readonly name: string }
}

/** `names` narrows the tools that may be called. */
export interface ToolChoice {
  readonly mode: 'none' | 'auto' | 'required'
  readonly names: readonly string[] | undefined
}

export type Format =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: JsonObject }
  /** A value of the schema; a string has no quotes. */
  | { readonly type: 'plain'; readonly schema: JsonObject }

/** What the text model answers. The tokens of a part, joined, are its text. */
export interface TextReply {
  readonly parts: readonly ReplyPart[]
  readonly finish: 'stop' | 'length' | 'calls' | 'refusal' | 'blocked'
  /** The stop sequence that was met. */
  readonly stopped: string | undefined
  /** Output tokens, reasoning included. */
  readonly output: number
  readonly reasoning: number
}

export type ReplyPart = ReasoningPart | TextPart | RefusalPart | CallPart

interface ReasoningPart {
  readonly type: 'reasoning'
  readonly tokens: readonly string[]
}

export interface TextPart {
  readonly type: 'text'
  readonly tokens: readonly string[]
  readonly citation?: Citation
}

/** The page of the web that a text cites from its start to an index of its UTF-16 units. */
export interface Citation {
  readonly end: number
  readonly url: string
  readonly title: string
}

/** Why the model does not answer. */
interface RefusalPart {
  readonly type: 'refusal'
  readonly tokens: readonly string[]
}

export interface CallPart {
  readonly type: 'call'
  readonly tool: Tool
  /** The JSON arguments, or the free text of a custom tool. */
  readonly tokens: readonly string[]
}

/**
 * What the user asks: the last text of the last user turn; empty where there is none. Translation joins turns of one role, and
 * programs add texts of their own: in tags (the environment, reminders), or behind a text that begins with dashes (files).
 */
export function lastUserText(turns: readonly Turn[]): string {
  const parts = turns.findLast(turn => turn.role === 'user')?.parts ?? []
  const texts = parts.flatMap(part => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []))
  const added = texts.findIndex((text, index) => index > 0 && text.trimStart().startsWith('---'))
  const own = texts.slice(0, added < 0 ? texts.length : added)
  return own.findLast(text => !isTagged(text.trim())) ?? own.at(-1) ?? ''
}

function isTagged(text: string): boolean {
  return text.startsWith('<') && text.endsWith('>')
}

/** All text parts, one a line. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** The tool results that came after the last user and assistant turns: what the model was called to read. */
export function freshResults(turns: readonly Turn[]): readonly ResultPart[] {
  const last = turns.findLastIndex(turn => turn.role === 'user' || turn.role === 'assistant')
  const fresh = turns.slice(hasResult(turns[last]) ? last : last + 1)
  return fresh.flatMap(turn => turn.parts).filter(part => part.type === 'result')
}

function hasResult(turn: Turn | undefined): boolean {
  return turn?.parts.some(part => part.type === 'result') ?? false
}

/** The size of a data URI or of plain base64, from its length; nothing is decoded or fetched. */
export function mediaFrom(kind: Media['kind'], source: { uri?: string; base64?: string; type?: string }): Media {
  const { uri = '', base64, type } = source
  if (base64 !== undefined) return { kind, type, bytes: decodedLength(base64) }
  const comma = uri.indexOf(',')
  if (!uri.startsWith('data:') || comma < 0) return { kind, type, bytes: undefined }
  const [mime = ''] = uri.slice('data:'.length, comma).split(';', 1)
  return { kind, type: mime === '' ? type : mime, bytes: decodedLength(uri, comma + 1) }
}

function decodedLength(base64: string, from = 0): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor(((base64.length - from - padding) * 3) / 4))
}
