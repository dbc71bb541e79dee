import { isNowhere } from '../../families/addresses.js'
import type { Fields } from '../../families/fields.js'
import { badArgument, badField } from '../../families/native.js'
import { type Media, mediaFrom, type Part, type ResultPart, type Turn } from '../../text/conversation.js'

/** What one role says before the other speaks, however many contents it is spread over. */
export interface Speech {
  readonly role: 'user' | 'model'
  readonly parts: readonly Said[]
}

/** A part, unchanged and as the text model reads it. */
export interface Said {
  readonly fields: Fields
  readonly part: Part | undefined
}

const DATA = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'],
]

/** Reads `contents`. Throws where one is malformed, or calls and responses do not fit. */
export function readContents(body: Fields): readonly Speech[] {
  const contents = body.list('contents') ?? []
  if (contents.length === 0) throw badField('contents', 'contents is not specified')
  const speeches: { role: 'user' | 'model'; parts: Said[] }[] = []
  for (const content of contents) {
    const role = roleOf(content)
    const parts = readParts(content)
    const last = speeches.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else speeches.push({ role, parts: [...parts] })
  }
  if (speeches[0]?.role === 'model') throw badArgument('Please ensure that the first content has the role user.')
  checkCalls(speeches)
  return speeches
}

/** Older clients answer calls under a role of its own. */
function roleOf(content: Fields): 'user' | 'model' {
  const role = content.string('role') ?? 'user'
  if (role === 'model') return role
  if (role === 'user' || role === 'function' || role === '') return 'user'
  throw badArgument('Please use a valid role: user, model.')
}

/** The parts of a content; at least one. */
export function readParts(content: Fields): readonly Said[] {
  const parts = content.list('parts') ?? []
  if (parts.length === 0) throw badField(content.param('parts'), 'contents.parts must not be empty.')
  return parts.map(fields => ({ fields, part: readPart(fields) }))
}

function readPart(part: Fields): Part | undefined {
  const data = DATA.filter(name => part.raw(name) !== undefined)
  if (data.length > 1) throw badField(part.param('data'), "oneof field 'data' is already set")
  if (part.boolean('thought')) return undefined
  switch (data[0]) {
    case undefined:
      throw badField(part.param('data'), "required oneof field 'data' must have one initialized field")
    case 'text':
      return { type: 'text', text: part.string('text') ?? '' }
    case 'inlineData':
      return { type: 'media', media: blob(part.need('inlineData', part.fields)) }
    case 'fileData':
      return { type: 'media', media: file(part.need('fileData', part.fields)) }
    case 'functionCall':
      return call(part.need('functionCall', part.fields))
    case 'functionResponse':
      return response(part.need('functionResponse', part.fields))
    default:
      return undefined
  }
}

function blob(data: Fields): Media {
  const type = data.need('mimeType', data.string)
  return mediaFrom(kindOf(type), { base64: data.need('data', data.string), type })
}

function file(data: Fields): Media {
  const type = data.string('mimeType')
  if (isNowhere(data.need('fileUri', data.string))) throw badArgument('Cannot fetch content from the provided URL.')
  return { kind: kindOf(type ?? ''), type, bytes: undefined }
}

function kindOf(type: string): Media['kind'] {
  return type.startsWith('image/') ? 'image' : type.startsWith('audio/') ? 'audio' : 'file'
}

function call(call: Fields): Part {
  const name = named(call)
  return { type: 'call', id: call.string('id') ?? '', name, arguments: JSON.stringify(call.raw('args') ?? {}) }
}

/** The id is that of the call, or its name where calls have no ids. */
function response(response: Fields): ResultPart {
  const name = named(response)
  const value = response.need('response', response.fields)
  const media = (response.list('parts') ?? []).flatMap(part => {
    const data = part.fields('inlineData')
    return data === undefined ? [] : [blob(data)]
  })
  const failed = value.raw('error') !== undefined
  return { type: 'result', id: response.string('id') ?? name, text: textIn(value), media, failed }
}

function named(holder: Fields): string {
  const name = holder.string('name') ?? ''
  if (name === '') throw badField(holder.param('name'), 'Name cannot be empty.')
  return name
}

/** Clients wrap a plain text as the one member of an object. */
function textIn({ object }: Fields): string {
  const [first, ...more] = Object.entries(object)
  const wrapped = more.length === 0 && ['result', 'output', 'error', 'content'].includes(first?.[0] ?? '')
  return wrapped && typeof first?.[1] === 'string' ? first[1] : JSON.stringify(object)
}

/** The turns that the text model reads; media that come with nothing but results belong to the last of them. */
export function turnsOf(speeches: readonly Speech[]): readonly Turn[] {
  return speeches.flatMap(({ role, parts }) => {
    const read = parts.flatMap(({ part }) => (part === undefined ? [] : [part]))
    if (role === 'model') return read.length === 0 ? [] : [{ role: 'assistant', parts: read }]
    const results = read.filter(part => part.type === 'result')
    const others = read.filter(part => part.type !== 'result')
    const media = others.flatMap(part => (part.type === 'media' ? [part.media] : []))
    const last = results.at(-1)
    if (last !== undefined && media.length === others.length) {
      const whole = { ...last, media: [...(last.media ?? []), ...media] }
      return [{ role: 'tool', parts: [...results.slice(0, -1), whole] }]
    }
    const turns: readonly Turn[] = [
      { role: 'tool', parts: results },
      { role: 'user', parts: others },
    ]
    return turns.filter(turn => turn.parts.length > 0)
  })
}

function checkCalls(speeches: readonly Speech[]): void {
  for (const [index, { role, parts }] of speeches.entries()) {
    const calls = callsIn(speeches[index - 1])
    const results = parts.flatMap(({ part, fields }) => (part?.type === 'result' ? [{ part, fields }] : []))
    if (role === 'model') continue
    if (results.length > 0 && calls.length === 0) throw badArgument(NO_CALL)
    if (results.length !== calls.length) throw badArgument(UNEQUAL)
    for (const { fields } of results) join(calls, fields)
  }
  if (callsIn(speeches.at(-1)).length > 0) throw badArgument(UNEQUAL)
}

interface Called {
  readonly name: string
  readonly id: string
}

function callsIn(speech: Speech | undefined): Called[] {
  if (speech?.role !== 'model') return []
  return speech.parts.flatMap(({ part }) => (part?.type === 'call' ? [{ name: part.name, id: part.id }] : []))
}

/** Takes the call that a response answers: by id where both have one, else by name. */
function join(calls: Called[], part: Fields): void {
  const response = part.need('functionResponse', part.fields)
  const id = response.string('id') ?? ''
  const name = response.string('name')
  const at = calls.findIndex(call => call.name === name && (id === '' || call.id === '' || call.id === id))
  if (at < 0) throw badField(response.path, `${id === '' ? `name "${name}"` : `id "${id}"`} matches no function call.`)
  calls.splice(at, 1)
}

const NO_CALL = 'Please ensure that function response turn comes immediately after a function call turn.'
const UNEQUAL =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the ' +
  'function call turn.'
