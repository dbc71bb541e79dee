import { SimulatorError } from '../../errors.js'
import type { Fields } from '../../families/fields.js'
import { badArgument, badField, nativeFields } from '../../families/native.js'
import { effortFrom } from '../../families/options.js'
import type { Faults } from '../../faults/table.js'
import { MAX_PIXELS, type Pixels, pixelsOf } from '../../image/shapes.js'
import { isObject, type JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { Format, TextRequest, Turn } from '../../text/conversation.js'
import { readContents, readParts, turnsOf } from './contents.js'
import { readMessage } from './proto.js'
import { checkSignatures } from './signatures.js'
import { transcriptOf, voiceOf } from './sound.js'
import { jsonSchema, readTools } from './tools.js'

export interface GenerateRequest {
  readonly model: string
  readonly text: TextRequest
  /** How many candidates. */
  readonly n: number
  /** Whether the answer shows its thoughts, and whether it has any. */
  readonly showsThoughts: boolean
  readonly thinking: boolean
  /** How many alternatives of each token to send; undefined without log probabilities. */
  readonly logprobs: number | undefined
  /** The size of requested images, and whether words come with them. */
  readonly image: { readonly pixels: Pixels; readonly words: boolean } | undefined
  /** Hertz of the voice of a spoken answer. */
  readonly voice: number | undefined
  /** What is said in a recording, where that is asked for. */
  readonly transcript: string | undefined
}

const MAX_STOP_SEQUENCES = 5
const MAX_CANDIDATES = 8

/** Reads the body of `:generateContent` and `:streamGenerateContent`. Throws where it is not one. */
export function readGenerate(call: Call): GenerateRequest {
  return readRequest(readMessage('GenerateContentRequest', call.body), call.parameter, call)
}

/** Reads a request whose names and types have been checked. */
export function readRequest(object: JsonObject, model: string, { faults, seed }: Call): GenerateRequest {
  const body = nativeFields(object)
  const contents = readContents(body)
  const config = body.fields('generationConfig') ?? nativeFields({})
  if (body.raw('cachedContent') !== undefined) throw noCache()
  checkSampling(config, faults)
  const asked = readThinking(config)
  const effort = effortFrom(asked.effort, faults)
  const thinking = effort !== undefined && effort !== 'none'
  checkSignatures(contents, thinking)
  const { tools, choice } = readTools(body)
  const text: TextRequest = {
    turns: [...systemTurns(body), ...turnsOf(contents)],
    tools,
    choice,
    parallel: true,
    format: readFormat(config),
    limit: config.integer('maxOutputTokens', { min: 1 }),
    stop: stopsOf(config),
    effort,
    length: faults.tokens,
    seed,
  }
  const n = config.integer('candidateCount', { min: 1, max: MAX_CANDIDATES }) ?? 1
  const modalities = modalitiesOf(config)
  return {
    ...{ model, text, n, showsThoughts: asked.showsThoughts, thinking, logprobs: logprobsOf(config) },
    image: imageOf(config, modalities, n),
    voice: voiceOf(config, modalities, n),
    transcript: transcriptOf(contents),
  }
}

function systemTurns(body: Fields): readonly Turn[] {
  const system = body.fields('systemInstruction')
  if (system === undefined) return []
  return [{ role: 'system', parts: readParts(system).flatMap(({ part }) => (part === undefined ? [] : [part])) }]
}

function checkSampling(config: Fields, faults: Faults): void {
  config.number('temperature', { min: 0, max: 2 })
  config.number('topP', { min: 0, max: 1 })
  config.number('topK', { min: 1 })
  config.number('presencePenalty', { min: -2, max: 2 })
  config.number('frequencyPenalty', { min: -2, max: 2 })
  if (!faults.reasoning) return
  for (const name of ['temperature', 'topP', 'topK']) {
    if (config.raw(name) !== undefined) throw badField(config.param(name), 'is not supported by this model')
  }
}

const MODALITIES = ['TEXT', 'IMAGE', 'AUDIO', 'MODALITY_UNSPECIFIED']

/** `responseModalities`: text, images with or without text, or sound. */
function modalitiesOf(config: Fields): readonly string[] {
  const modalities = config.strings('responseModalities').map(word => word.toUpperCase())
  if (modalities.every(word => MODALITIES.includes(word))) return modalities
  throw badArgument(`This model does not support the requested response modalities: ${modalities.join(', ')}`)
}

/** The shape of images, from `imageConfig`. */
function imageOf(config: Fields, modalities: readonly string[], n: number): GenerateRequest['image'] {
  if (!modalities.includes('IMAGE')) return undefined
  const image = config.fields('imageConfig')
  const pixels = pixelsOf(image?.string('aspectRatio'), image?.string('imageSize'))
  if (pixels === undefined) throw badField('generation_config.image_config', 'there is no such aspect ratio or size')
  if (pixels.width * pixels.height * n > MAX_PIXELS) {
    throw badArgument(`The images have more than ${MAX_PIXELS} pixels in all.`)
  }
  return { pixels, words: modalities.includes('TEXT') }
}

function stopsOf(config: Fields): readonly string[] {
  const stops = config.strings('stopSequences')
  if (stops.length <= MAX_STOP_SEQUENCES) return stops
  throw badField(config.param('stopSequences'), `at most ${MAX_STOP_SEQUENCES} stop sequences are supported`)
}

function logprobsOf(config: Fields): number | undefined {
  const top = config.integer('logprobs', { min: 0, max: 20 })
  if (config.boolean('responseLogprobs')) return top ?? 0
  if (top === undefined) return undefined
  throw badField(config.param('logprobs'), 'logprobs needs response_logprobs to be true')
}

function noCache(): SimulatorError {
  return new SimulatorError(403, 'CachedContent not found (or permission denied)')
}

const MAX_BUDGET_TOKENS = 32_768
const LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'THINKING_LEVEL_UNSPECIFIED'] as const
const BUDGETS = [
  [24_576, 'high'],
  [8192, 'medium'],
  [1024, 'low'],
  [1, 'minimal'],
  [0, 'none'],
] as const

interface Thinking {
  readonly effort: string | undefined
  /** Whether the answer shows its thoughts. */
  readonly showsThoughts: boolean
}

/** `thinkingConfig`: a budget or a level, never both. Its mere presence lets the model decide. */
function readThinking(config: Fields): Thinking {
  const thinking = config.fields('thinkingConfig')
  if (thinking === undefined) return { effort: undefined, showsThoughts: false }
  const showsThoughts = thinking.boolean('includeThoughts') ?? false
  const budget = thinking.integer('thinkingBudget')
  const level = thinking.string('thinkingLevel')
  if (budget !== undefined && level !== undefined) {
    throw badArgument('You can only set only one of thinking budget and thinking level.')
  }
  if (budget !== undefined && (budget < -1 || budget > MAX_BUDGET_TOKENS)) {
    throw badArgument(
      `The thinking budget ${budget} is invalid. Please choose a value between 0 and ${MAX_BUDGET_TOKENS}.`,
    )
  }
  return { effort: budget === undefined ? levelOf(thinking, level) : effortOf(budget), showsThoughts }
}

function effortOf(budget: number): string {
  return budget < 0 ? 'medium' : (BUDGETS.find(([least]) => budget >= least)?.[1] ?? 'none')
}

function levelOf(thinking: Fields, level: string | undefined): string {
  if (level === undefined) return 'medium'
  const known = LEVELS.find(each => each === level.toUpperCase())
  if (known === undefined) throw badField(thinking.param('thinkingLevel'), `"${level.slice(0, 100)}" is not a level`)
  return known === 'THINKING_LEVEL_UNSPECIFIED' ? 'medium' : known.toLowerCase()
}

const TYPES = ['text/plain', 'application/json', 'text/x.enum'] as const

/** The form of the answer: `responseMimeType` with a schema of either dialect, or `responseFormat`. */
function readFormat(config: Fields): Format {
  const newer = config.fields('responseFormat')?.fields('text')
  if (newer !== undefined) return formatOf(newer.string('mimeType') === 'TEXT_PLAIN', newer.raw('schema'))
  const type = config.string('responseMimeType') ?? 'text/plain'
  const known = type === '' ? 'text/plain' : TYPES.find(each => each === type)
  if (known === undefined) throw badField(config.param('responseMimeType'), `allowed mimetypes are ${TYPES.join(', ')}`)
  const own = config.fields('responseSchema')
  const standard = config.raw('responseJsonSchema')
  if (own !== undefined && standard !== undefined) {
    throw badField(config.path, 'response_schema and response_json_schema are mutually exclusive')
  }
  const schema = own === undefined ? standard : jsonSchema(own.object)
  if (known === 'text/plain' && schema !== undefined) {
    throw badField(config.param('responseSchema'), 'only allowed with response_mime_type application/json')
  }
  if (known === 'text/x.enum') return { type: 'plain', schema: isObject(schema) ? schema : {} }
  return formatOf(known === 'text/plain', schema)
}

function formatOf(plain: boolean, schema: unknown): Format {
  if (plain) return { type: 'text' }
  return isObject(schema) ? { type: 'schema', schema: schema as JsonObject } : { type: 'json' }
}
