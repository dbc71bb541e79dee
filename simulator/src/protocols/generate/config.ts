import type { Fields } from '../../families/fields.js'
import { badArgument, badField } from '../../families/native.js'
import { isObject, type JsonObject } from '../../json.js'
import type { Format } from '../../text/conversation.js'
import { jsonSchema } from './tools.js'

const MAX_BUDGET_TOKENS = 32_768
const LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'THINKING_LEVEL_UNSPECIFIED'] as const
const BUDGETS = [
  [24_576, 'high'],
  [8192, 'medium'],
  [1024, 'low'],
  [1, 'minimal'],
  [0, 'none'],
] as const

export interface Thinking {
  readonly effort: string | undefined
  /** Whether the thoughts are to be told. */
  readonly told: boolean
}

/** `thinkingConfig`: a budget or a level, never both. Its mere presence lets the model decide. */
export function readThinking(config: Fields): Thinking {
  const thinking = config.fields('thinkingConfig')
  if (thinking === undefined) return { effort: undefined, told: false }
  const told = thinking.boolean('includeThoughts') ?? false
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
  return { effort: budget === undefined ? levelOf(thinking, level) : effortOf(budget), told }
}

function effortOf(budget: number): string {
  return budget < 0 ? 'medium' : (BUDGETS.find(([least]) => budget >= least)?.[1] ?? 'none')
}

function levelOf(thinking: Fields, level: string | undefined): string {
  if (level === undefined) return 'medium'
  const known = LEVELS.find(each => each === level.toUpperCase())
  if (known === undefined) throw badField(thinking.param('thinkingLevel'), `"${level.slice(0, 100)}" is no level`)
  return known === 'THINKING_LEVEL_UNSPECIFIED' ? 'medium' : known.toLowerCase()
}

const TYPES = ['text/plain', 'application/json', 'text/x.enum'] as const

/** The form of the answer: `responseMimeType` with a schema of either dialect, or `responseFormat`. */
export function readFormat(config: Fields): Format {
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
