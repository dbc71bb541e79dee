import { isNowhere } from '../../families/addresses.js'
import type { Fields } from '../../families/fields.js'
import { invalid, listed } from '../../families/messages.js'
import { isObject, type Json } from '../../json.js'
import { type Media, mediaFrom, type Part } from '../../text/conversation.js'
import { type Mark, readMark } from './cache.js'

export type Role = 'user' | 'assistant' | 'system'

/** What the text model needs of a block of content. */
export interface Block {
  readonly type: string
  readonly fields: Fields
  /** What the model reads of it; nothing of its own thoughts and of what hosted tools did. */
  readonly part: Part | undefined
  readonly mark: Mark | undefined
}

const TYPES: Readonly<Record<Role, readonly string[]>> = {
  system: ['text'],
  user: ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
}
const IN_RESULTS = ['text', 'image', 'document', 'search_result', 'tool_reference']
const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
/** Blocks of hosted tools, in an assistant's message, and of added and removed tools, in a system's. */
const HOSTED: Readonly<Record<Role, RegExp | undefined>> = {
  system: /^tool_(addition|removal)$/,
  user: undefined,
  assistant: /^(server_tool_use|\w+_tool_(use|result)|compaction)$/,
}

/** The blocks of a member that is a string or a list of blocks. */
export function readBlocks(message: Fields, name: string, role: Role): readonly Block[] {
  return readContent(message, name, TYPES[role], role)
}

function readContent(holder: Fields, name: string, types: readonly string[], role: Role = 'user'): readonly Block[] {
  const content = holder.raw(name)
  if (typeof content === 'string') {
    return [{ type: 'text', fields: holder, part: { type: 'text', text: content }, mark: undefined }]
  }
  return (holder.list(name) ?? []).map(fields => {
    const type = fields.need('type', fields.string)
    if (HOSTED[role]?.test(type)) return { type, fields, part: undefined, mark: readMark(fields) }
    if (!types.includes(type)) throw unknownTag(fields.path, type, types)
    return { type, fields, part: partOf(type, fields, role), mark: readMark(fields) }
  })
}

function partOf(type: string, block: Fields, role: Role): Part | undefined {
  switch (type) {
    case 'text':
      block.only(['type', 'text', 'cache_control', 'citations'])
      return { type: 'text', text: spoken(block, role) }
    case 'image':
      block.only(['type', 'source', 'cache_control'])
      return { type: 'media', media: image(block.need('source', block.fields)) }
    case 'document':
      block.only(['type', 'source', 'title', 'context', 'citations', 'cache_control'])
      return { type: 'media', media: document(block.need('source', block.fields)) }
    case 'search_result':
      block.need('source', block.string)
      block.need('title', block.string)
      return { type: 'media', media: textFile(textIn(readContent(block, 'content', ['text']))) }
    case 'tool_use':
      block.only(['type', 'id', 'name', 'input', 'cache_control', 'caller'])
      return call(block)
    case 'tool_result':
      block.only(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])
      return result(block)
    default:
      return undefined
  }
}

/** No text may be empty; one that is blank only the model may have written. */
function spoken(block: Fields, role: Role): string {
  const text = block.need('text', block.string)
  if (text.trim() !== '' || (text !== '' && role === 'assistant')) return text
  const wish = text === '' ? 'be non-empty' : 'contain non-whitespace text'
  throw invalid(block.path.replace(/\.content\.\d+$/, ''), `text content blocks must ${wish}`)
}

function call(block: Fields): Part {
  const id = identifier(block, 'id')
  const name = block.need('name', block.string)
  return { type: 'call', id, name, arguments: JSON.stringify(block.need('input', block.fields).object) }
}

function result(block: Fields): Part {
  const id = identifier(block, 'tool_use_id')
  const blocks = readContent(block, 'content', IN_RESULTS)
  const media = blocks.flatMap(({ part }) => (part?.type === 'media' ? [part.media] : []))
  return { type: 'result', id, text: textIn(blocks), media, failed: block.boolean('is_error') ?? false }
}

function identifier(block: Fields, name: string): string {
  const id = block.need(name, block.string)
  if (/^[\w-]+$/.test(id)) return id
  throw invalid(block.param(name), "String should match pattern '^[a-zA-Z0-9_-]+$'")
}

function image(source: Fields): Media {
  const type = sourceType(source, ['base64', 'url', 'file'])
  if (type === 'file') return mediaFrom('image', { uri: fileId(source) })
  if (type === 'url') return mediaFrom('image', { uri: link(source) })
  const media = source.needOneOf('media_type', IMAGES)
  return mediaFrom('image', { base64: base64(source), type: media })
}

function document(source: Fields): Media {
  switch (sourceType(source, ['base64', 'text', 'content', 'url', 'file'])) {
    case 'base64':
      source.needOneOf('media_type', ['application/pdf'])
      return mediaFrom('file', { base64: base64(source), type: 'application/pdf' })
    case 'text':
      source.need('media_type', source.string)
      return textFile(source.need('data', source.string))
    case 'content':
      return textFile(textIn(readContent(source, 'content', ['text', 'image'])))
    case 'file':
      return mediaFrom('file', { uri: fileId(source) })
    default:
      return mediaFrom('file', { uri: link(source), type: 'application/pdf' })
  }
}

function sourceType<T extends string>(source: Fields, types: readonly T[]): T {
  const type = source.need('type', source.string)
  const known = types.find(each => each === type)
  if (known === undefined) throw unknownTag(source.path, type, types)
  return known
}

/** The gateway checks who may use a file; the simulator does not look for it. */
function fileId(source: Fields): string {
  return source.need('file_id', source.string)
}

function link(source: Fields): string {
  const url = source.need('url', source.string)
  if (isNowhere(url)) throw invalid(source.param('url'), 'Unable to download the file. Please verify the URL.')
  if (/^https?:\/\//i.test(url)) return url
  throw invalid(source.param('url'), 'Only HTTP and HTTPS URLs are supported.')
}

/** Plain base64, not a data URI. */
function base64(source: Fields): string {
  const data = source.need('data', source.string)
  if (data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) return data
  throw invalid(source.param('data'), 'invalid base64 data')
}

function textFile(text: string): Media {
  return { kind: 'file', type: 'text/plain', bytes: Buffer.byteLength(text) }
}

function textIn(blocks: readonly Block[]): string {
  return blocks.flatMap(({ part }) => (part?.type === 'text' ? [part.text] : [])).join('\n')
}

function unknownTag(path: string, tag: string, tags: readonly string[]) {
  const got = tag.slice(0, 100)
  return invalid(path, `Input tag '${got}' found using 'type' does not match any of the expected tags: ${listed(tags)}`)
}

/** Whether an option that has `enabled` is on. */
export function isOn(value: Json | undefined): boolean {
  return isObject(value) && value.enabled === true
}
