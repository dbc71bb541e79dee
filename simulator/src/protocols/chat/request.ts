import { SimulatorError } from '../../errors.js'
import { Fields } from '../../families/fields.js'
import {
  checkChoices,
  checkSampling,
  EFFORTS,
  effortFrom,
  LEVELS,
  modelOf,
  readFormat,
  readStop,
  readStream,
  type StreamOptions,
} from '../../families/options.js'
import { unsupportedParameter, wrongValue } from '../../families/refusals.js'
import { describedTool, readChoice, toolList } from '../../families/tools.js'
import { MAX_PIXELS, type Pixels, pixelsOf } from '../../image/shapes.js'
import type { Call } from '../../protocol.js'
import type { TextRequest, Tool, ToolChoice } from '../../text/conversation.js'
import { readMessages } from './messages.js'

export interface ChatRequest {
  readonly model: string
  readonly text: TextRequest
  /** How many answers. */
  readonly n: number
  readonly stream: StreamOptions | undefined
  /** How many alternatives of each token to send; undefined without log probabilities. */
  readonly logprobs: number | undefined
  /** Whether tools are called in the older way, as functions. */
  readonly legacy: boolean
  /** Whether the answer shows its reasoning, as servers do that cannot seal it. */
  readonly reasoned: boolean
  /** What images are asked for. */
  readonly image: Pixels | undefined
}

const MODALITIES = ['text', 'audio', 'image'] as const

/** Reads the body of `POST /v1/chat/completions`. Throws where it is not one. */
export function readChat({ body: object, faults, seed }: Call): ChatRequest {
  const body = new Fields(object)
  const model = modelOf(body)
  const turns = readMessages(body)
  checkSampling(body, faults)
  checkChoices(body)
  body.oneOf('verbosity', LEVELS)
  body.fields('web_search_options')?.oneOf('search_context_size', LEVELS)
  const modalities = body.someOf('modalities', MODALITIES)
  if (modalities.includes('audio')) throw noAudio()
  const effort = body.oneOf('reasoning_effort', EFFORTS)
  const { tools, choice, legacy } = readTools(body)
  const text: TextRequest = {
    turns,
    tools,
    choice,
    parallel: !legacy && (body.boolean('parallel_tool_calls') ?? true),
    format: readFormat(body.fields('response_format')),
    limit: limitOf(body, faults.reasoning === true),
    stop: readStop(body),
    effort: effortFrom(effort, faults),
    length: faults.tokens,
    seed,
  }
  const reasoned = effort !== undefined
  const n = body.integer('n', { min: 1, max: 128 }) ?? 1
  const image = modalities.includes('image') ? imageOf(body, n) : undefined
  return { model, text, n, stream: readStream(body), logprobs: logprobsOf(body), legacy, reasoned, image }
}

/** For `modalities` with images, as servers of such models have it: the shape in `image_config`. */
function imageOf(body: Fields, n: number): Pixels {
  const config = body.fields('image_config')
  const pixels = pixelsOf(config?.string('aspect_ratio'), config?.string('image_size'))
  if (pixels === undefined) throw wrongValue('image_config', "Invalid 'image_config': there is no such shape.")
  if (pixels.width * pixels.height * n <= MAX_PIXELS) return pixels
  throw wrongValue('n', `Invalid 'n': ${n} images of this size have more than ${MAX_PIXELS} pixels in all.`)
}

function limitOf(body: Fields, reasoning: boolean): number | undefined {
  const old = body.integer('max_tokens', { min: 1 })
  if (reasoning && old !== undefined) throw unsupportedParameter('max_tokens', 'max_completion_tokens')
  return body.integer('max_completion_tokens', { min: 1 }) ?? old
}

function logprobsOf(body: Fields): number | undefined {
  const top = body.integer('top_logprobs', { min: 0, max: 20 })
  if (body.boolean('logprobs')) return top ?? 0
  if (top === undefined || top === 0) return undefined
  const message = "'top_logprobs' is only allowed when 'logprobs' is set to true."
  throw new SimulatorError(400, `Invalid value: ${message}`, { param: 'top_logprobs' })
}

function noAudio(): SimulatorError {
  const message = "Unsupported value: 'modalities' does not support 'audio' with this model."
  return new SimulatorError(400, message, { param: 'modalities', code: 'unsupported_value' })
}

interface ToolSet {
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice
  /** Whether the older `functions` were used; the answer then uses them, too. */
  readonly legacy: boolean
}

/** The tools of a body and the choice among them. */
function readTools(body: Fields): ToolSet {
  const functions = toolList(body, 'functions')
  if (functions !== undefined) {
    const tools = functions.map(each => describedTool('function', each))
    return { tools, choice: readChoice(body, 'function_call', tools), legacy: true }
  }
  const tools = (toolList(body, 'tools') ?? []).map(tool)
  return { tools, choice: readChoice(body, 'tool_choice', tools), legacy: false }
}

function tool(definition: Fields): Tool {
  const kind = definition.oneOf('type', ['function', 'custom']) ?? 'function'
  return describedTool(kind, definition.need(kind, definition.fields))
}
