import type { Carry, FieldMapping } from '../../core/fields.js'
import type { Route, Translation } from '../../core/plan.js'
import type { CallerModels } from './models.js'

/** Models that one sentence names. */
const MAX_NAMED = 5

/** What translation does to requests of a route, in sentences of Markdown; undefined where every model is relayed. */
export function lossesOn(
  route: Route,
  models: CallerModels,
  names: readonly string[],
  strict: boolean,
): string | undefined {
  const found = new Map<string, { readonly translation: Translation; readonly models: string[] }>()
  for (const name of names) {
    for (const { translation } of models.exchanges(route, name)) {
      if (translation === undefined) continue
      const { protocol } = translation.client
      const entry = found.get(protocol) ?? { translation, models: [] }
      found.set(protocol, entry)
      if (entry.models.at(-1) !== name) entry.models.push(name)
    }
  }
  if (found.size === 0) return undefined
  return [...found].map(([protocol, entry]) => sentence(protocol, entry, strict, models.areMany)).join('\n\n')
}

function sentence(
  protocol: string,
  { translation, models }: { readonly translation: Translation; readonly models: readonly string[] },
  isStrictCaller: boolean,
  areMany: boolean,
): string {
  const { dropped, refused } = membersLost(translation)
  const rest = areMany ? ' and others' : ` and ${models.length - MAX_NAMED} more`
  const more = models.length > MAX_NAMED ? rest : ''
  const named = models.slice(0, MAX_NAMED).map(code).join(', ')
  const isStrict = isStrictCaller || translation.strict
  const lost = dropped.length === 0 ? [] : [`${isStrict ? 'Refused' : 'Left out'}: ${dropped.map(code).join(', ')}.`]
  const others = refused.length === 0 ? [] : [`Refused: ${refused.map(code).join(', ')}.`]
  return [`Translated to ${code(protocol)} for ${named}${more}.`, ...lost, ...others].join(' ')
}

interface Lost {
  readonly dropped: readonly string[]
  readonly refused: readonly string[]
}

/** Members of requests that do not reach an upstream of the other protocol; those within others that do not are not named. */
function membersLost({ server, client }: Translation): Lost {
  const fields: Readonly<Record<string, FieldMapping<string>>> = 'fields' in server.server ? server.server.fields : {}
  const carries: Readonly<Record<string, Carry>> = 'carries' in client.client ? client.client.carries : {}
  const dropped: string[] = []
  const refused: string[] = []
  for (const [member, mapping] of Object.entries(fields)) {
    if ([...dropped, ...refused].some(one => member.startsWith(`${one}.`) || member.startsWith(`${one}[`))) continue
    const fate = fateOf(mapping, carries)
    if (fate === 'dropped') dropped.push(member)
    if (fate === 'refused') refused.push(member)
  }
  return { dropped, refused }
}

/** A member is lost if all that it holds is. */
function fateOf(
  mapping: FieldMapping<string>,
  carries: Readonly<Record<string, Carry>>,
): 'dropped' | 'refused' | undefined {
  if (typeof mapping === 'object' && 'left' in mapping) return 'dropped'
  if (typeof mapping === 'object' && 'here' in mapping) return undefined
  const held = typeof mapping === 'string' ? [mapping] : mapping
  const fates = held.map(field => {
    const carry = carries[field]
    return typeof carry !== 'object'
      ? undefined
      : 'dropped' in carry
        ? 'dropped'
        : 'refused' in carry
          ? 'refused'
          : undefined
  })
  const [first] = fates
  return fates.every(fate => fate !== undefined) ? first : undefined
}

export function code(text: string): string {
  return `\`${text}\``
}
