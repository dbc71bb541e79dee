import { converseFields, refused } from '../../families/converse.js'
import type { Fields } from '../../families/fields.js'
import { effortFrom } from '../../families/options.js'
import { isObject, parseJson } from '../../json.js'
import type { Call } from '../../protocol.js'
import type { Format, Part, TextRequest, Tool, ToolChoice, Turn } from '../../text/conversation.js'
import { blockParts } from './blocks.js'

const MEMBERS = [
  ...['messages', 'system', 'inferenceConfig', 'toolConfig', 'guardrailConfig', 'additionalModelRequestFields'],
  ...['promptVariables', 'additionalModelResponseFieldPaths', 'requestMetadata', 'performanceConfig'],
  ...['serviceTier', 'outputConfig'],
]
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const MAX_STOP_SEQUENCES = 2500

/** Reads the body of `converse` and `converse-stream`. Throws where it is not one. */
export function readRequest({ body, faults, seed }: Call): TextRequest {
  const fields = converseFields(body).only(MEMBERS)
  const config = fields.fields('inferenceConfig')?.only(['maxTokens', 'temperature', 'topP', 'stopSequences'])
  config?.number('temperature', { min: 0, max: 1 })
  config?.number('topP', { min: 0, max: 1 })
  const stop = config?.strings('stopSequences') ?? []
  if (stop.length > MAX_STOP_SEQUENCES) throw refused('too many stop sequences')
  fields.fields('serviceTier')?.only(['type']).needOneOf('type', ['priority', 'default', 'flex', 'reserved'])
  const output = fields.fields('outputConfig')?.only(['textFormat', 'effort'])
  const turns = readTurns(fields)
  const { tools, choice } = readTools(fields)
  const hasCalls = turns.some(({ parts }) => parts.some(({ type }) => type === 'call' || type === 'result'))
  if (hasCalls && tools.length === 0) {
    throw refused('The toolConfig field must be defined when using toolUse and toolResult content blocks.')
  }
  return {
    turns,
    tools,
    choice,
    parallel: true,
    format: readFormat(output?.fields('textFormat')),
    limit: config?.integer('maxTokens', { min: 1 }),
    stop,
    effort: effortFrom(output?.oneOf('effort', EFFORTS) ?? thinkingIn(fields), faults),
    length: faults.tokens,
    seed,
  }
}

/** The member by which some models are asked to think. */
function thinkingIn(fields: Fields): string | undefined {
  const thinking = fields.fields('additionalModelRequestFields')?.fields('thinking')
  const type = thinking?.oneOf('type', ['enabled', 'adaptive', 'disabled'])
  return type === undefined || type === 'disabled' ? undefined : 'medium'
}

function readTurns(fields: Fields): readonly Turn[] {
  const system = (fields.list('system') ?? []).flatMap(blockParts)
  const messages = fields.need('messages', fields.list)
  if (messages.length === 0) throw refused('A conversation must start with a user message.')
  const turns = messages.map((message, index): { role: 'user' | 'assistant' | 'system'; parts: readonly Part[] } => {
    const role = message.only(['role', 'content']).needOneOf('role', ['user', 'assistant', 'system'])
    if (index === 0 && role !== 'user') {
      throw refused('A conversation must start with a user message. Try again with a conversation that starts so.')
    }
    const blocks = message.need('content', message.list)
    if (blocks.length === 0) throw refused(`The content field in the Message object at ${message.path} is empty.`)
    return { role, parts: blocks.flatMap(blockParts) }
  })
  const all: readonly Turn[] = turns.flatMap(({ role, parts }) => {
    const results = parts.filter(({ type }) => type === 'result')
    const others = parts.filter(({ type }) => type !== 'result')
    return [
      { role: 'tool' as const, parts: results },
      { role, parts: others },
    ].filter(turn => turn.parts.length > 0)
  })
  return system.length === 0 ? all : [{ role: 'system', parts: system }, ...all]
}

function readTools(fields: Fields): { readonly tools: readonly Tool[]; readonly choice: ToolChoice } {
  const config = fields.fields('toolConfig')?.only(['tools', 'toolChoice'])
  const tools = (config?.need('tools', config.list) ?? []).flatMap((one): readonly Tool[] => {
    const spec = one.fields('toolSpec')?.only(['name', 'description', 'inputSchema', 'strict'])
    if (spec === undefined) return []
    const name = spec.need('name', spec.string)
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) throw refused(`Value at '${spec.param('name')}' is not a name of a tool`)
    const schema = spec.need('inputSchema', spec.fields).need('json', spec.fields)
    return [{ kind: 'function', name, description: spec.string('description'), schema: schema.object }]
  })
  const choice = config?.fields('toolChoice')?.only(['auto', 'any', 'tool'])
  const named = choice?.fields('tool')
  const name = named?.need('name', named.string)
  if (name !== undefined && !tools.some(tool => tool.name === name)) throw refused(`there is no tool ${name}`)
  const isForced = name !== undefined || choice?.raw('any') !== undefined
  return { tools, choice: { mode: isForced ? 'required' : 'auto', names: name === undefined ? undefined : [name] } }
}

function readFormat(format: Fields | undefined): Format {
  if (format === undefined) return { type: 'text' }
  format.only(['type', 'structure']).needOneOf('type', ['json_schema'])
  const holder = format.need('structure', format.fields)
  const definition = holder.need('jsonSchema', holder.fields)
  const schema = parseJson(definition.need('schema', definition.string))
  if (!isObject(schema)) throw refused('the schema is not a JSON object')
  return { type: 'schema', schema }
}
