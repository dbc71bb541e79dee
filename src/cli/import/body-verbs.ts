import { isObject, type Json } from '../../core/json.js'
import { copiedMembers } from './copies.js'
import { numberIn, type View } from './view.js'

/** Members of request bodies for which gateways keep defaults. */
const DEFAULTS = [
  ...['temperature', 'max_tokens', 'max_completion_tokens', 'top_p', 'top_k', 'seed', 'stop', 'n', 'user'],
  ...[
    'presence_penalty',
    'frequency_penalty',
    'logit_bias',
    'response_format',
    'reasoning_effort',
    'parallel_tool_calls',
  ],
]

const TEXTS: ReadonlySet<string> = new Set(['stop', 'user', 'response_format', 'reasoning_effort'])
const NUMBERS: ReadonlySet<string> = new Set(DEFAULTS.filter(name => !TEXTS.has(name)))

/** `default` for the members of a body beside other settings. */
export function defaultsIn(view: View): readonly Json[] {
  const found = DEFAULTS.map(name => view.child(name)).filter(({ exists }) => exists)
  return verb('default', copiedMembers(found.map(one => [String(one.path.at(-1)), one])))
}

/** A mapping of body members as a verb: `set: { provider.sort: price }`. */
export function bodyVerb(name: 'set' | 'default', view: View, without: readonly string[] = []): readonly Json[] {
  const members = copiedMembers(view.entries().filter(([member]) => !without.includes(member)))
  const flat = members.flatMap(([member, value]) =>
    name === 'set' ? flattened(member, value) : [[member, value] as const],
  )
  const usable = flat.filter(([path]) => /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/.test(path))
  if (usable.length < flat.length) view.find('unsupported', 'a member with such a name cannot be set')
  return verb(name, usable)
}

function verb(name: string, members: readonly (readonly [string, Json])[]): readonly Json[] {
  const body = Object.fromEntries(members.map(([member, value]) => [member, numeric(member, value)]))
  return members.length === 0 ? [] : [{ [name]: body }]
}

/** `4_096` is a number in YAML 1.1. */
function numeric(name: string, value: Json): Json {
  return typeof value === 'string' && NUMBERS.has(name) ? (numberIn(value) ?? value) : value
}

function flattened(path: string, value: Json): readonly (readonly [string, Json])[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]]
  return Object.entries(value).flatMap(([name, inner]) => flattened(`${path}.${name}`, inner))
}
