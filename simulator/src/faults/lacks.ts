import { SimulatorError } from '../errors.js'

type Body = Readonly<Record<string, unknown>>

const CHAT = /\/chat\/completions$/
const GENERATE = /:(?:stream)?generateContent$/i
const EMBEDDINGS = /\/embeddings$/
const RERANK = /\/rerank$/
const MESSAGES = /\/messages$/
const MODERATIONS = /\/moderations$/
const IMAGES = /\/images\/generations$/
const PREDICT = /:predict$/
/** Where texts may have pictures by their addresses. */
const READS_PICTURES = /\/chat\/completions$|\/messages$|:(?:stream)?generateContent$/i
const SPEECH = /\/audio\/speech$/

/** Which requests need something, by their paths and bodies. */
type Need = readonly [path: RegExp, needs: (body: Body) => boolean]

/** What a server may lack, and how that shows in a request. */
const LACKS: Readonly<Record<string, Need>> = {
  developer: [CHAT, body => hasRole(body, 'developer')],
  system: [CHAT, body => hasRole(body, 'system')],
  max_tokens: [CHAT, body => body.max_tokens !== undefined],
  max_completion_tokens: [CHAT, body => body.max_completion_tokens !== undefined],
  sampling: [CHAT, body => body.temperature !== undefined || body.top_p !== undefined],
  schema: [CHAT, body => body.response_format !== undefined],
  tools: [CHAT, body => body.tools !== undefined],
  parallel: [CHAT, body => body.parallel_tool_calls !== undefined],
  effort: [CHAT, body => body.reasoning_effort !== undefined],
  stream: [CHAT, body => body.stream === true],
  stream_usage: [CHAT, body => body.stream_options !== undefined],
  images: [CHAT, body => hasPart(body, 'image_url')],
  audio: [CHAT, body => hasPart(body, 'input_audio')],
  speech: [SPEECH, () => true],
  sound: [GENERATE, body => wants(body, 'AUDIO')],
  image_objects: [EMBEDDINGS, body => hasInput(body, 'image')],
  image_parts: [EMBEDDINGS, body => hasInput(body, 'content')],
  chat: [CHAT, () => true],
  messages: [MESSAGES, () => true],
  moderations: [MODERATIONS, () => true],
  input_type: [EMBEDDINGS, body => body.input_type !== undefined],
  task: [EMBEDDINGS, body => body.task !== undefined],
  made_images: [IMAGES, () => true],
  generated_images: [GENERATE, body => wants(body, 'IMAGE')],
  predicted_images: [PREDICT, () => true],
  chat_images: [CHAT, body => Array.isArray(body.modalities) && body.modalities.includes('image')],
  several: [READS_PICTURES, body => body.n === 2 || configOf(body).candidateCount === 2],
  urls: [READS_PICTURES, body => hasAddress(body, /^https?:/i)],
  http_urls: [READS_PICTURES, body => hasAddress(body, /^http:/i)],
  max_tokens_per_doc: [RERANK, body => body.max_tokens_per_doc !== undefined],
  priority: [RERANK, body => body.priority !== undefined],
}

export const LACKING: readonly string[] = Object.keys(LACKS)

/** Throws {@link SimulatorError} if the request needs what the server lacks; words are joined by full stops. */
export function checkLacks(lacks: string, path: string, bytes: Buffer): void {
  const [place = ''] = path.split('?')
  const needs = lacks.split('.').flatMap(word => {
    const [where, isNeeded] = LACKS[word] ?? []
    return where?.test(place) === true && isNeeded !== undefined ? [{ word, isNeeded }] : []
  })
  if (needs.length === 0) return
  const body = parsed(bytes)
  for (const { word, isNeeded } of needs) {
    if (!isNeeded(body)) continue
    const message = `This server has no support for '${word}'.`
    throw new SimulatorError(400, message, { param: word, code: 'unsupported_parameter' })
  }
}

function parsed(bytes: Buffer): Body {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Body) : {}
  } catch {
    return {}
  }
}

function messagesOf({ messages }: Body): readonly Body[] {
  return Array.isArray(messages) ? messages.filter(one => typeof one === 'object' && one !== null) : []
}

function hasRole(body: Body, role: string): boolean {
  return messagesOf(body).some(message => message.role === role)
}

function hasPart(body: Body, type: string): boolean {
  return messagesOf(body).some(({ content }) => Array.isArray(content) && content.some(part => part?.type === type))
}

function configOf({ generationConfig: config }: Body): Body {
  return typeof config === 'object' && config !== null ? (config as Body) : {}
}

function wants(body: Body, modality: string): boolean {
  const modalities = configOf(body).responseModalities
  return Array.isArray(modalities) && modalities.includes(modality)
}

/** Whether one of the members that name pictures has such an address. */
function hasAddress(value: unknown, address: RegExp): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, one]) =>
    typeof one === 'string' ? (name === 'url' || name === 'fileUri') && address.test(one) : hasAddress(one, address),
  )
}

function hasInput({ input }: Body, member: string): boolean {
  return Array.isArray(input) && input.some(one => typeof one === 'object' && one !== null && member in one)
}
