import { refused } from '../../families/converse.js'
import type { Fields } from '../../families/fields.js'
import { isSealed } from '../../seals.js'
import { type Media, mediaFrom, type Part } from '../../text/conversation.js'

const KINDS = { image: 'image', document: 'file', video: 'file', audio: 'audio' } as const
const NAMES = [
  ...['text', 'image', 'document', 'video', 'audio', 'toolUse', 'toolResult', 'cachePoint', 'reasoningContent'],
  ...['citationsContent', 'searchResult', 'guardContent'],
]

/** What the text model reads of a block. A block has one member, which says what it is. */
export function blockParts(block: Fields): readonly Part[] {
  const names = Object.keys(block.only(NAMES).object)
  if (names.length !== 1) throw refused(`The block at ${block.path} must set exactly one of the members of its union.`)
  const text = block.string('text')
  if (text !== undefined) {
    if (text.trim() === '') throw refused(`The text field in the ContentBlock object at ${block.path} is blank.`)
    return [{ type: 'text', text }]
  }
  const call = block.fields('toolUse')
  if (call !== undefined) return [callIn(call)]
  const result = block.fields('toolResult')
  if (result !== undefined) return [resultIn(result)]
  const cited = block.fields('citationsContent')?.list('content') ?? []
  if (cited.length > 0) return [{ type: 'text', text: cited.map(one => one.string('text') ?? '').join('') }]
  const thought = block.fields('reasoningContent')
  if (thought !== undefined) checkThought(thought)
  const media = mediaIn(block)
  return media === undefined ? [] : [{ type: 'media', media }]
}

/** Thoughts come back as they were: a signature of someone else is refused. */
function checkThought(thought: Fields): void {
  const signature = thought.fields('reasoningText')?.string('signature')
  if (signature !== undefined && !isSealed('converse.thinking', signature)) {
    throw refused(`The model returned the following errors: ${thought.path}: Invalid signature`)
  }
}

function callIn(call: Fields): Part {
  const input = call.need('input', call.fields)
  const [id, name] = [call.need('toolUseId', call.string), call.need('name', call.string)]
  if (!/^[a-zA-Z0-9_.:-]{1,64}$/.test(id)) throw refused(`Value at '${call.param('toolUseId')}' is not an id`)
  return { type: 'call', id, name, arguments: JSON.stringify(input.object) }
}

function resultIn(result: Fields): Part {
  const blocks = result.need('content', result.list)
  const texts = blocks.flatMap(block => {
    const json = block.raw('json')
    return json === undefined ? (block.string('text') ?? []) : JSON.stringify(json)
  })
  const media = blocks.flatMap(block => mediaIn(block) ?? [])
  const failed = result.oneOf('status', ['success', 'error']) === 'error'
  const id = result.need('toolUseId', result.string)
  return { type: 'result', id, text: texts.join('\n'), ...(media.length > 0 && { media }), ...(failed && { failed }) }
}

function mediaIn(block: Fields): Media | undefined {
  for (const [name, kind] of Object.entries(KINDS)) {
    const media = block.fields(name)
    if (media === undefined) continue
    if (name === 'document') media.need('name', media.string)
    const source = media.need('source', media.fields)
    const text = source.string('text')
    if (text !== undefined) return { kind, type: 'text/plain', bytes: Buffer.byteLength(text) }
    const base64 = source.string('bytes')
    const type = media.string('format')
    return mediaFrom(kind, { ...(base64 !== undefined && { base64 }), ...(type !== undefined && { type }) })
  }
  return undefined
}
