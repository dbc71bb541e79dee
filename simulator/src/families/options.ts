import { SimulatorError } from '../errors.js'
import type { Faults } from '../faults/table.js'
import type { Json } from '../json.js'
import type { Format } from '../text/conversation.js'
import { says } from '../text/words.js'
import { describe, type Fields } from './fields.js'
import { tooLong, unsupportedParameter, wrongType, wrongValue } from './refusals.js'

const MAX_STOP_SEQUENCES = 4

/** How a stream is wanted. */
export interface StreamOptions {
  readonly includeUsage: boolean
}

/** Nothing where no stream is wanted. */
export function readStream(body: Fields): StreamOptions | undefined {
  const options = body.fields('stream_options')
  if (body.boolean('stream')) return { includeUsage: options?.boolean('include_usage') ?? false }
  if (options === undefined) return undefined
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
  throw new SimulatorError(400, message, { param: 'stream_options' })
}

/** One stop sequence or up to four. */
export function readStop(body: Fields): readonly string[] {
  const stops = body.strings('stop')
  if (stops.length > MAX_STOP_SEQUENCES) throw tooLong('stop', MAX_STOP_SEQUENCES, stops.length)
  return stops
}

/** Values of members that several protocols of the compatible family share (its API reference, state of August 2026). */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export const DETAILS = ['low', 'high', 'auto', 'original'] as const
export const LEVELS = ['low', 'medium', 'high'] as const
const RETENTIONS = ['in_memory', 'in-memory', '24h'] as const
const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'] as const

/** Checks the choices that both chat completions and responses offer. Throws if one is not a listed value. */
export function checkChoices(body: Fields): void {
  body.oneOf('service_tier', TIERS)
  body.oneOf('prompt_cache_retention', RETENTIONS)
  body.fields('prompt_cache_options')?.oneOf('mode', ['implicit', 'explicit'])
}

/** The form of the answer. A schema is in `json_schema` or beside the type. */
export function readFormat(format: Fields | undefined): Format {
  const type = format?.oneOf('type', ['text', 'json_object', 'json_schema'])
  if (format === undefined || type === undefined || type === 'text') return { type: 'text' }
  if (type === 'json_object') return { type: 'json' }
  const holder = format.fields('json_schema') ?? format
  holder.need('name', holder.string)
  return { type: 'schema', schema: holder.fields('schema')?.object ?? {} }
}

const DEFAULT_EFFORT = 'medium'

/** Checks the parameters that steer sampling. They are obeyed in no other way: the simulator does not draw lots. */
export function checkSampling(body: Fields, faults: Faults): void {
  body.number('temperature', { min: 0, max: 2 })
  body.number('top_p', { min: 0, max: 1 })
  body.number('presence_penalty', { min: -2, max: 2 })
  body.number('frequency_penalty', { min: -2, max: 2 })
  if (!faults.reasoning) return
  for (const name of ['temperature', 'top_p', 'logprobs', 'presence_penalty', 'frequency_penalty']) {
    if (body.raw(name) !== undefined) throw unsupportedParameter(name)
  }
}

/** How much to reason: as asked, or as a reasoning model does unasked. */
export function effortFrom(asked: string | undefined, faults: Faults): string | undefined {
  return asked ?? (faults.reasoning ? DEFAULT_EFFORT : undefined)
}

/** One input: a text, or the numbers of tokens that were made elsewhere. */
export type Prompt = string | readonly number[]

/** Reads a text, several texts, one list of tokens or several such lists. Nothing where the member is absent. */
export function readPrompts(body: Fields, name: string): readonly Prompt[] | undefined {
  const value = body.raw(name)
  if (value === undefined) return undefined
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) throw wrongType(name, 'a string or an array', describe(value))
  return isTokens(value) && value.length > 0 ? [value] : value.map((each, index) => prompt(each, `${name}[${index}]`))
}

function prompt(value: Json, param: string): Prompt {
  if (typeof value === 'string' || isTokens(value)) return value
  throw wrongType(param, 'a string or an array of tokens', describe(value))
}

function isTokens(value: Json): value is readonly number[] {
  return Array.isArray(value) && value.every(each => Number.isInteger(each))
}

/**
 * The model that a body names. Every name is a model here, so that whichever name a configuration leads to the simulator
 * works; the fault `status=404` plays one that does not exist. Throws where none is named.
 */
export function modelOf(fields: Fields): string {
  const model = fields.need('model', fields.string)
  if (model === '') throw fields.missing('model')
  return model
}

const MAX_PROMPT_CHARS = 32_000

/**
 * The prompt of an image or a film. Throws if it is empty or too long, or if a word in it makes the safety system refuse
 * it, with an error of `type`.
 */
export function readPrompt(body: Fields, name = 'prompt', type?: string): string {
  const prompt = body.need(name, body.string)
  if (prompt.trim() === '') throw wrongValue(name, `Invalid '${name}': it must not be empty.`)
  if (prompt.length > MAX_PROMPT_CHARS) {
    const message = `Invalid '${name}': string too long. Its maximum length is ${MAX_PROMPT_CHARS}.`
    throw new SimulatorError(400, message, { param: name, code: 'string_above_max_length' })
  }
  if (!says(prompt, 'simulate_block')) return prompt
  const refusal = { code: 'moderation_blocked', ...(type && { type }) }
  throw new SimulatorError(400, 'Your request was rejected by the safety system.', refusal)
}
