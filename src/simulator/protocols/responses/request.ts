import type { JsonObject } from '../../../core/json.js'
import { SimulatorError } from '../../errors.js'
import { Fields } from '../../families/fields.js'
import { readFormat } from '../../families/format.js'
import { checkSampling, effortFrom } from '../../families/sampling.js'
import type { Call } from '../../protocol.js'
import type { TextRequest } from '../../text/conversation.js'
import { modelOf } from '../model.js'
import { readHistory } from './history.js'
import { readInput } from './input.js'
import { readTools } from './tools.js'

const LEAST_LIMIT = 16

export interface ResponsesRequest {
  readonly body: Fields
  readonly model: string
  readonly text: TextRequest
  /** All items that are answered, those of the earlier responses first. */
  readonly input: readonly JsonObject[]
  readonly stream: boolean
  /** Whether the answer may be referred to later. */
  readonly store: boolean
  /** Whether the reasoning is to be told. */
  readonly summary: boolean
  /** Whether the reasoning is to be sent sealed, so that it can come back without a store. */
  readonly sealed: boolean
  /** How many alternatives to tell of each token; absent where none are to be told at all. */
  readonly logprobs: number | undefined
}

/** Reads the body of `POST /v1/responses`. Throws where it is not one. */
export function readResponses(call: Call): ResponsesRequest {
  const { faults, seed, memory } = call
  const body = new Fields(call.body)
  const model = modelOf(body, unknownModel)
  checkSampling(body, faults)
  const { tools, choice } = readTools(body)
  const reasoning = body.fields('reasoning')
  const include = body.strings('include')
  const top = body.integer('top_logprobs', { min: 0, max: 20 })
  if (body.boolean('background')) throw unsupported('background')
  const history = readHistory(body, call)
  const { turns, items } = readInput(body, history, memory, seed)
  const text: TextRequest = {
    turns,
    tools,
    choice,
    parallel: body.boolean('parallel_tool_calls') ?? true,
    format: readFormat(body.fields('text')?.fields('format')),
    limit: body.integer('max_output_tokens', { min: LEAST_LIMIT }),
    stop: [],
    effort: effortFrom(reasoning?.string('effort'), faults),
    length: faults.tokens,
    seed,
  }
  return {
    body,
    model,
    text,
    input: [...history.items, ...items],
    stream: body.boolean('stream') ?? false,
    store: body.boolean('store') ?? true,
    summary: (reasoning?.string('summary') ?? reasoning?.string('generate_summary')) !== undefined,
    sealed: include.includes('reasoning.encrypted_content'),
    logprobs: include.includes('message.output_text.logprobs') || top !== undefined ? (top ?? 0) : undefined,
  }
}

export function unknownModel(model: string): SimulatorError {
  const message = `The requested model '${model}' does not exist.`
  return new SimulatorError(400, message, { param: 'model', code: 'model_not_found' })
}

function unsupported(param: string): SimulatorError {
  return new SimulatorError(400, `Unsupported parameter: '${param}' is not supported with this model.`, {
    param,
    code: 'unsupported_parameter',
  })
}
