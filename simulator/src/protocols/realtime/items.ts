import { SimulatorError } from '../../errors.js'
import type { Fields } from '../../families/fields.js'
import { notListed, wrongValue } from '../../families/refusals.js'
import type { JsonObject } from '../../json.js'
import type { Part, Turn } from '../../text/conversation.js'

/** An item of the conversation, as it is sent, and as the text model reads it. */
export interface Item {
  readonly id: string
  readonly object: JsonObject
  readonly turn: Turn
  /** Bytes of sound in it. */
  readonly sound: number
}

const TYPES = ['message', 'function_call', 'function_call_output'] as const
const ROLES = ['system', 'user', 'assistant'] as const
const CONTENTS = ['input_text', 'input_audio', 'input_image', 'output_text', 'output_audio'] as const

/** Reads the item of a `conversation.item.create`. Throws {@link SimulatorError} if it is not one. */
export function readItem(item: Fields, id: string): Item {
  const type = item.needOneOf('type', TYPES)
  const object = { object: 'realtime.item', status: 'completed', ...item.object, id }
  if (type === 'function_call_output') {
    const part: Part = { type: 'result', id: item.need('call_id', item.string), text: item.need('output', item.string) }
    return { id, object, turn: { role: 'tool', parts: [part] }, sound: 0 }
  }
  if (type === 'function_call') {
    const name = item.need('name', item.string)
    const part: Part = {
      type: 'call',
      id: item.string('call_id') ?? '',
      name,
      arguments: item.string('arguments') ?? '',
    }
    return { id, object, turn: { role: 'assistant', parts: [part] }, sound: 0 }
  }
  const role = item.needOneOf('role', ROLES)
  const parts = (item.list('content') ?? []).map(part)
  const sound = parts.reduce((sum, one) => sum + (one.type === 'media' ? (one.media.bytes ?? 0) : 0), 0)
  // Of sound only the length is kept.
  return { id, object, turn: { role, parts }, sound }
}

function part(content: Fields): Part {
  const type = content.needOneOf('type', CONTENTS)
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: content.need('text', content.string) }
    case 'input_audio':
    case 'output_audio': {
      const transcript = content.string('transcript')
      if (type === 'output_audio' && transcript !== undefined) return { type: 'text', text: transcript }
      const bytes = soundOf(content.need('audio', content.string), content.param('audio')).length
      return { type: 'media', media: { kind: 'audio', type: 'audio/pcm', bytes } }
    }
    case 'input_image':
      return { type: 'media', media: { kind: 'image', type: undefined, bytes: undefined } }
  }
}

/** Samples from base64. Throws {@link SimulatorError} if the text is not base64. */
export function soundOf(base64: string, param: string): Buffer {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) {
    throw wrongValue(param, `Invalid '${param}': expected audio in base64.`)
  }
  return Buffer.from(base64, 'base64')
}

/** What was said into the microphone. */
export function spokenItem(id: string, bytes: number, transcript: string | null): Item {
  const object: JsonObject = {
    id,
    object: 'realtime.item',
    type: 'message',
    status: 'completed',
    role: 'user',
    content: [{ type: 'input_audio', transcript }],
  }
  const media = { kind: 'audio', type: 'audio/pcm', bytes } as const
  return { id, object, turn: { role: 'user', parts: [{ type: 'media', media }] }, sound: bytes }
}

export function unknownItem(id: string, param: string): SimulatorError {
  return new SimulatorError(400, `Item with item_id not found: ${id.slice(0, 100)}`, {
    param,
    code: 'item_not_found',
    type: 'invalid_request_error',
  })
}

export function unknownType(type: string, known: readonly string[]): SimulatorError {
  return notListed('type', type, known)
}
