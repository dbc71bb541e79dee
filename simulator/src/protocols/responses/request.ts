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
} from '../../families/options.js'
import { describedTool, readChoice, toolList } from '../../families/tools.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { TextRequest, Tool, ToolChoice } from '../../text/conversation.js'
import { readInput } from './input.js'
import { readHistory } from './stored.js'

const MIN_MAX_TOKENS = 16
const SUMMARIES = ['auto', 'concise', 'detailed'] as const
const INCLUDED = [
  ...(['file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources'] as const),
  ...(['message.input_image.image_url', 'computer_call_output.output.image_url'] as const),
  ...(['code_interpreter_call.outputs', 'reasoning.encrypted_content', 'message.output_text.logprobs'] as const),
] as const

export interface ResponsesRequest {
  readonly body: Fields
  readonly model: string
  readonly text: TextRequest
  /** All items that are answered, those of the earlier responses first. */
  readonly input: readonly JsonObject[]
  readonly stream: boolean
  /** Whether the answer may be referred to later. */
  readonly store: boolean
  /** Whether the answer shows its reasoning. */
  readonly summary: boolean
  /** Whether the reasoning is sealed, so that it can come back without a store. */
  readonly sealed: boolean
  /** How many alternatives of each token to send; undefined without log probabilities. */
  readonly logprobs: number | undefined
}

/** Reads the body of `POST /v1/responses`. Throws where it is not one. */
export function readResponses(call: Call): ResponsesRequest {
  const { faults, seed, memory } = call
  const body = new Fields(call.body)
  const model = modelOf(body)
  checkSampling(body, faults)
  const { tools, choice } = readTools(body)
  checkChoices(body)
  body.oneOf('truncation', ['auto', 'disabled'])
  const form = body.fields('text')
  form?.oneOf('verbosity', LEVELS)
  const reasoning = body.fields('reasoning')
  const effort = reasoning?.oneOf('effort', EFFORTS)
  const summary = reasoning?.oneOf('summary', SUMMARIES) ?? reasoning?.oneOf('generate_summary', SUMMARIES)
  const include = body.someOf('include', INCLUDED)
  const top = body.integer('top_logprobs', { min: 0, max: 20 })
  if (body.boolean('background')) throw unsupported('background')
  const history = readHistory(body, call)
  const { turns, items } = readInput(body, history, memory, seed)
  const text: TextRequest = {
    turns,
    tools,
    choice,
    parallel: body.boolean('parallel_tool_calls') ?? true,
    format: readFormat(form?.fields('format')),
    limit: body.integer('max_output_tokens', { min: MIN_MAX_TOKENS }),
    stop: [],
    effort: effortFrom(effort, faults),
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
    summary: summary !== undefined,
    sealed: include.includes('reasoning.encrypted_content'),
    logprobs: include.includes('message.output_text.logprobs') || top !== undefined ? (top ?? 0) : undefined,
  }
}

function unsupported(param: string): SimulatorError {
  return new SimulatorError(400, `Unsupported parameter: '${param}' is not supported with this model.`, {
    param,
    code: 'unsupported_parameter',
  })
}

const OURS = ['function', 'custom'] as const
const NONE: ToolChoice = { mode: 'none', names: undefined }

/** The tools that a client carries out itself. Hosted ones are accepted and never used. */
function readTools(body: Fields): { tools: readonly Tool[]; choice: ToolChoice } {
  const listed = toolList(body, 'tools') ?? []
  const tools = listed.flatMap(tool => (tool.string('type') === 'namespace' ? readGroup(tool) : readTool(tool)))
  const hosted = isHosted(body.raw('tool_choice')) || (tools.length === 0 && listed.length > 0)
  return { tools, choice: hosted ? NONE : readChoice(body, 'tool_choice', tools) }
}

function readTool(tool: Fields): readonly Tool[] {
  const kind = OURS.find(each => each === tool.string('type'))
  return kind === undefined ? [] : [describedTool(kind, tool)]
}

/** `{ type: 'namespace', name, tools }`: calls to these tools say both names. */
function readGroup(group: Fields): readonly Tool[] {
  const namespace = group.need('name', group.string)
  return (group.list('tools') ?? [])
    .flatMap(readTool)
    .map(tool => ({ ...tool, name: `${namespace}__${tool.name}`, within: { namespace, name: tool.name } }))
}

function isHosted(choice: Json | undefined): boolean {
  return isObject(choice) && !['function', 'custom', 'allowed_tools'].includes(String(choice.type))
}
