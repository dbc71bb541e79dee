import type { Target } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { HostedTool, TextRequest, Tool } from '../core/text.js'
import { arrayOf, numberOf, objectOf, stringOf } from './read.js'

/** What protocols can say of a web search at the upstream. */
interface SearchSettings {
  /** `low`, `medium`, `high`: how much of what is found the model sees. */
  readonly size?: string
  /** City, region, country and time zone of the user. */
  readonly place?: Readonly<Record<string, string>>
  readonly allowed?: readonly string[]
  readonly blocked?: readonly string[]
  /** Most searches. */
  readonly uses?: number
}

type Setting = keyof SearchSettings

const WORDS: Readonly<Record<Setting, string>> = {
  size: 'the size of its context',
  place: 'the location of the user',
  allowed: 'the domains that it may use',
  blocked: 'the domains that it may not use',
  uses: 'its number of searches',
}

const READ = new Set([
  ...['type', 'name', 'cache_control', 'search_context_size', 'user_location'],
  ...['allowed_domains', 'blocked_domains', 'filters', 'max_uses'],
])

/** The settings of a search tool, whichever protocol wrote it, and the names of those that no other one has. */
export function searchSettings({ value, name }: HostedTool): { readonly said: SearchSettings; readonly own: string[] } {
  const tool = objectOf(value[name]) ?? value
  const filters = objectOf(tool.filters)
  const size = stringOf(tool.search_context_size)
  const place = placeOf(tool.user_location)
  const allowed = stringsOf(tool.allowed_domains ?? filters?.allowed_domains)
  const blocked = stringsOf(tool.blocked_domains ?? filters?.blocked_domains)
  const uses = numberOf(tool.max_uses)
  return {
    said: {
      ...(size !== undefined && { size }),
      ...(place !== undefined && { place }),
      ...(allowed.length > 0 && { allowed }),
      ...(blocked.length > 0 && { blocked }),
      ...(uses !== undefined && { uses }),
    },
    own: Object.keys(tool).filter(member => !READ.has(member) && says(tool[member])),
  }
}

/** Why a search does not go out as it was asked for; undefined where all that was said does. `can`: what the target says. */
export function searchLoss(
  { said, own }: ReturnType<typeof searchSettings>,
  can: ReadonlySet<Setting>,
): string | undefined {
  const lost = (Object.keys(said) as Setting[]).filter(setting => !can.has(setting)).map(setting => WORDS[setting])
  const all = [...lost, ...own]
  return all.length === 0 ? undefined : `it searches without ${all.join(', ')}`
}

const PLACE = ['city', 'region', 'country', 'timezone']

/** `{type: approximate, city, …}`, with the members in an object of their own or not. */
function placeOf(value: Json | undefined): SearchSettings['place'] {
  const location = objectOf(objectOf(value)?.approximate) ?? objectOf(value)
  const said = PLACE.flatMap(name => {
    const word = stringOf(location?.[name])
    return word === undefined ? [] : [[name, word] as const]
  })
  return said.length === 0 ? undefined : Object.fromEntries(said)
}

function stringsOf(value: Json | undefined): string[] {
  return arrayOf(value).filter(one => typeof one === 'string')
}

/** Nothing, an empty list and what is so anyway say nothing. */
function says(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === true) return false
  return !isObject(value) || Object.keys(value as JsonObject).length > 0
}

/** Why code does not run as it was asked for: files in the container of another upstream stay there. */
export function containerLoss({ value }: HostedTool): string | undefined {
  const { container } = value
  const holds = typeof container === 'string' || arrayOf(objectOf(container)?.file_ids).length > 0
  return holds ? 'its container is at another upstream' : undefined
}

/** Leaves out a tool for which the upstream has no counterpart. Throws `untranslatable` where the client forces it. */
export function loseHosted(
  tool: HostedTool,
  { tools, toolChoice }: Pick<TextRequest, 'tools' | 'toolChoice'>,
  target: Pick<Target, 'lose'>,
  field: 'hostedOther' | 'hostedCode' = 'hostedOther',
): undefined {
  const names = [tool.name, tool.value.name]
  const isAlone = tools.every(({ type }) => type === 'hosted')
  const isForced =
    (toolChoice?.type === 'tool' && names.includes(toolChoice.name)) ||
    (toolChoice?.type === 'required' && isAlone) ||
    (toolChoice?.type === 'subset' &&
      toolChoice.mode === 'required' &&
      toolChoice.names.every(one => names.includes(one)))
  if (isForced) {
    const message = `The model cannot be given 'tool_choice': it has no tools of the type '${tool.name}'.`
    throw new GatewayError('untranslatable', message, { param: 'tool_choice' })
  }
  target.lose(field, tool.at, `the model has no tools of the type '${tool.name}'`)
}

/** Names of a choice among tools, without those of tools that are known to another protocol than `protocol` alone. */
export function withoutLost(names: readonly string[], tools: readonly Tool[], protocol: string): readonly string[] {
  const lost = tools.filter(tool => tool.type === 'hosted' && tool.kind === 'other' && tool.of !== protocol)
  return lost.length === 0 ? names : names.filter(name => !lost.some(tool => tool.name === name))
}
