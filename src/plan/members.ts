import type { Config, RouteConfig } from '../core/config.js'
import {
  type MemberAction,
  type MemberRule,
  type MemberRules,
  type MembersConfig,
  memberName,
  type RouteMembers,
} from '../core/members.js'
import { parsePath } from '../wire/json-edit.js'

/** Before the names of parameters of the query. */
const QUERY = '?'
/** Where the model is in the path, a body can but repeat it. */
const REPEATED: MembersConfig = { model: 'same' }
const NOTHING: MembersConfig = {}

/** The rules of routes by what they are made of, each made once. */
export class MemberCompiler {
  readonly #config: Pick<Config, 'protocols' | 'upstreams'>
  readonly #made = new Map<string, RouteMembers>()

  constructor(config: Pick<Config, 'protocols' | 'upstreams'>) {
    this.#config = config
  }

  of({ protocol = '', model, method, body, shipped }: RouteConfig & { readonly method: string }): RouteMembers {
    const repeated = model?.from === 'path'
    const openQuery = !shipped || (body === 'none' && method !== 'WS')
    const key = JSON.stringify([protocol, repeated, openQuery])
    const made = this.#made.get(key) ?? this.#compile(protocol, repeated, openQuery)
    this.#made.set(key, made)
    return made
  }

  #compile(protocol: string, repeated: boolean, openQuery: boolean): RouteMembers {
    const { protocols, upstreams } = this.#config
    const written = Object.hasOwn(protocols, protocol) ? protocols[protocol] : undefined
    const named = (written?.messages?.model ?? []).map(path => [path, 'model'] as const)
    const declared = [repeated ? REPEATED : NOTHING, Object.fromEntries(named), written?.members ?? NOTHING]
    const usual = compileMembers(declared)
    const special = new Map<string, MemberRules>()
    for (const [name, { members }] of Object.entries(upstreams)) {
      if (members !== undefined) special.set(name, compileMembers([...declared, members]))
    }
    return {
      any: [usual, ...special.values()].flatMap(({ rules }) => rules),
      openQuery,
      of: upstream => special.get(upstream) ?? usual,
    }
  }
}

/** What several declarations come to, the later ones winning over the same members of the earlier ones. */
function compileMembers(declared: readonly MembersConfig[]): MemberRules {
  const actions = new Map<string, { readonly path: readonly string[]; readonly action: MemberAction }>()
  const query = new Map<string, MemberAction>()
  for (const [written, action] of declared.flatMap(members => Object.entries(members))) {
    if (written.startsWith(QUERY)) {
      query.set(written.slice(QUERY.length), action)
      continue
    }
    const path = parsePath(written).map(memberName)
    actions.set(JSON.stringify(path), { path, action })
  }
  const rules = [...actions.values()].filter((rule): rule is MemberRule => rule.action !== 'pass')
  return { rules, query }
}
