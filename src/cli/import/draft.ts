import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { addressOf, asName, asVariable, variableOf } from './address.js'
import { accountOf, type CloudWish, placeOf } from './clouds.js'
import type { Spoken } from './custom-requests.js'
import type { KindOf } from './kinds.js'
import type { View } from './view.js'
import { onePerWindow } from './windows.js'
import { entryYaml, scalarYaml } from './yaml-text.js'

export interface Target {
  readonly upstream: string
  readonly as?: string
  readonly weight?: number
  readonly request?: readonly Json[]
  readonly traits?: JsonObject
}

export interface Model {
  readonly targets: Target[]
  readonly settings: Record<string, Json>
  readonly comments: string[]
}

interface UpstreamWish {
  /** The foreign word for the provider. */
  readonly provider: string
  /** What it is called here, where the file says so. */
  readonly name?: string
  /** Where findings about it belong. */
  readonly at: View
  readonly address?: View
  readonly secret?: View
  /** What its secret is for, where the file has none: other sources have other variables. */
  readonly source?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly settings?: JsonObject
  /** Whether it has limits that it shares with no other upstream like it. */
  readonly isOwn?: boolean
  /** Calls that differ from those of the kind. */
  readonly speaks?: (spoken: Spoken) => JsonObject
  /** The model there, where kinds depend on it. */
  readonly model?: string
  /** For providers in a cloud. */
  readonly cloud?: CloudWish
}

/** The configuration that an import makes, and its text. */
export class Draft {
  readonly top: Record<string, Json> = {}
  readonly groups = new Map<string, JsonObject>()
  readonly keys = new Map<string, JsonObject>()
  readonly models = new Map<string, Model>()
  readonly #upstreams = new Map<string, JsonObject>()
  readonly #wantLimits = new Set<string>()
  readonly #known = new Map<string, string>()
  readonly #kindOf: KindOf
  /** Variables, each with what it is for: a key of the file, or what that says in place of one. */
  readonly #variables = new Map<string, string>()
  #shared: JsonObject | undefined

  constructor(kindOf: KindOf) {
    this.#kindOf = kindOf
  }

  /** The name of the upstream, which is made where there is none like it yet; undefined where no kind can serve it. */
  upstream(wish: UpstreamWish): string | undefined {
    const { provider, at, address, secret, headers = {}, settings = {}, model = '', cloud = {} } = wish
    const written = address?.text()
    const isKeyed = secret !== undefined || settings.secret !== undefined || settings.secrets !== undefined
    const kind = this.#kindOf(provider, { hasAddress: written !== undefined, isKeyed, model })
    if ('unsupported' in kind) {
      at.find('unsupported', `no kind serves ${JSON.stringify(provider)}: ${kind.unsupported}`)
      return undefined
    }
    const name = asName(wish.name ?? provider)
    const made: Record<string, Json> = { kind: kind.kind }
    if (kind.guessed) at.find('approximate', `taken for a server that speaks the compatible protocols under /v1`)
    if (kind.cloud === undefined || written !== undefined)
      Object.assign(made, this.#addressOf(kind, written, address, at, name))
    else made.base = placeOf(kind.cloud, cloud, at)
    if (kind.cloud !== undefined && !kind.takesSecret) Object.assign(made, accountOf(kind.cloud, cloud))
    if (secret !== undefined && kind.takesSecret)
      Object.assign(made, this.secretOf(secret, kind.variable ?? `${asVariable(name)}_API_KEY`))
    else if (kind.variable !== undefined && settings.secret === undefined && settings.secrets === undefined) {
      const env = this.variableFor(wish.source ?? `env:${kind.variable}`, kind.variable)
      if (env !== kind.variable) at.find('manual', `set ${env} to its key: ${kind.variable} is for another`)
      Object.assign(made, { secret: { env } })
    }
    const { secret: one, secrets: several, ...others } = settings
    Object.assign(made, kind.takesSecret ? settings : others)
    if (Object.keys(headers).length > 0) made.headers = headers
    const prefix = /\/v1\/*$/.test(written ?? '') ? '/v1' : ''
    const calls = wish.speaks?.({ protocols: kind.speaks, prefix }) ?? {}
    if (Object.keys(calls).length > 0) made.speaks = { ...(made.speaks as JsonObject | undefined), ...calls }
    if (!kind.takesSecret && (secret ?? one ?? several) !== undefined) {
      secret?.text()
      at.find('manual', `its key is left out: the credential here is of type ${kind.cloud?.credential ?? 'its own'}`)
    }
    const identity = JSON.stringify(made)
    const known = this.#known.get(identity)
    if (known !== undefined && wish.isOwn !== true) return known
    const free = freeName(name, this.#upstreams)
    if (kind.wantsLimit) this.#wantLimits.add(free)
    this.#known.set(identity, free)
    this.#upstreams.set(free, made)
    return free
  }

  /** The first of `wanted`, `wanted_2` and so on that is for nothing else than this source. */
  variableFor(source: string, wanted: string): string {
    for (let number = 1; ; number++) {
      const variable = number === 1 ? wanted : `${wanted}_${number}`
      if ((this.#variables.get(variable) ?? source) !== source) continue
      this.#variables.set(variable, source)
      return variable
    }
  }

  /** Where the secret is: a variable that the file names, or one that a person has to set. Its value is never copied. */
  secretOf(view: View, wanted: string): { readonly secret: JsonObject } {
    const text = view.text() ?? ''
    const variable = variableOf(text)
    if (variable !== undefined) return { secret: { env: variable } }
    const env = this.variableFor(text === '' ? `env:${wanted}` : `key:${text}`, wanted)
    if (text !== '') view.find('manual', `the key is written in the file, and is not copied: set ${env} to it`)
    return { secret: { env } }
  }

  /** Whether translation to it needs a limit that clients may leave out. */
  wantsLimit(upstream: string): boolean {
    return this.#wantLimits.has(upstream)
  }

  hasUpstream(name: string): boolean {
    return this.#upstreams.has(name)
  }

  get upstreamNames(): readonly string[] {
    return [...this.#upstreams.keys()]
  }

  /** A name has one price: the first that is said. */
  price(name: string, price: JsonObject, at: View): void {
    const prices = isObject(this.top.prices) ? this.top.prices : {}
    const before = prices[name]
    if (before === undefined) this.top.prices = { ...prices, [name]: price }
    else if (JSON.stringify(before) !== JSON.stringify(price))
      at.find('approximate', `${JSON.stringify(name)} has one price here: that of its first deployment`)
  }

  /** Limits of an upstream beside its other settings. */
  bound(upstream: string, limits: JsonObject): void {
    const made = this.#upstreams.get(upstream)
    if (made === undefined) return
    const all = new Map(Object.entries(isObject(made.limits) ? made.limits : {}))
    for (const [unit, rates] of Object.entries(limits))
      all.set(unit, all.has(unit) ? onePerWindow([all.get(unit) ?? [], rates].flat().map(String)) : rates)
    this.#upstreams.set(upstream, { ...made, limits: Object.fromEntries(all) })
  }

  addKey(name: string, key: JsonObject): void {
    this.keys.set(freeName(name, this.keys), key)
  }

  freeGroup(name: string): string {
    return freeName(name, this.groups)
  }

  /** Limits that all keys share. */
  boundAll(limits: JsonObject): void {
    this.#shared = { ...this.#shared, ...limits }
  }

  /** What all keys share is of a group that every other group and key belongs to. */
  joinEveryone(): void {
    if (this.#shared === undefined) return
    const name = this.freeGroup('everyone')
    for (const holders of [this.groups, this.keys])
      for (const [holder, value] of holders)
        if (value.group === undefined) holders.set(holder, { ...value, group: name })
    this.groups.set(name, { limits: this.#shared })
  }

  model(name: string): Model {
    const known = this.models.get(name)
    if (known !== undefined) return known
    const model: Model = { targets: [], settings: {}, comments: [] }
    this.models.set(name, model)
    return model
  }

  /** The same upstream and model a second time adds its weight to the first. */
  addTarget(name: string, target: Target): void {
    const { targets } = this.model(name)
    const { weight: own, ...rest } = target
    const at = targets.findIndex(({ weight: _, ...other }) => JSON.stringify(other) === JSON.stringify(rest))
    const before = targets[at]
    if (before === undefined) targets.push(target)
    else if (own !== undefined) targets[at] = { ...before, weight: (before.weight ?? 0) + own }
  }

  text(head: readonly string[]): string {
    const lines = [...head.map(line => `# ${line}`), '', 'version: 1']
    for (const [name, value] of Object.entries(this.top)) lines.push(`${name}:${entryYaml(value, 0)}`)
    section(
      lines,
      'groups',
      [...this.groups].map(([name, group]) => [name, group, []]),
    )
    section(
      lines,
      'keys',
      [...this.keys].map(([name, key]) => [name, key, []]),
    )
    section(
      lines,
      'upstreams',
      [...this.#upstreams].map(([name, upstream]) => [name, upstream, []]),
    )
    section(lines, 'models', this.#modelLines())
    return `${lines.join('\n')}\n`
  }

  #modelLines(): readonly Entry[] {
    // Globs are tried in the order of the file: those that say more come first.
    const order = (name: string): number =>
      name.includes('*') ? name.replaceAll('*', '').length : Number.MAX_SAFE_INTEGER
    const sorted = [...this.models].filter(([, { targets }]) => targets.length > 0)
    return sorted
      .sort(([a], [b]) => order(b) - order(a))
      .map(([name, model]) => [name, modelValue(model), model.comments])
  }

  #addressOf(
    { base, isCompatible }: { readonly base: string | undefined; readonly isCompatible: boolean },
    written: string | undefined,
    view: View | undefined,
    at: View,
    name: string,
  ): JsonObject {
    const placeholder = `https://${name.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-')}.invalid`
    if (written === undefined || written === '') {
      if (base !== undefined) return {}
      at.find('manual', `the address of this provider is not in the file: replace ${placeholder}`)
      return { base: placeholder }
    }
    const variable = variableOf(written)
    if (variable !== undefined) {
      view?.find('manual', `the address is in ${variable}: it has to end before /v1 here`)
      return { base: `\${${variable}:-${placeholder}}` }
    }
    if (!/^https?:\/\/[^\s/?#@${}]+(?:\/[^\s?#${}]*)?$/.test(written)) {
      view?.find('manual', `this address cannot be used: replace ${placeholder}`)
      return { base: placeholder }
    }
    return { ...addressOf(written, isCompatible) }
  }
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : `${name}-${number}`
    if (!taken.has(free)) return free
  }
}

type Entry = readonly [name: string, value: Json, comments: readonly string[]]

function section(lines: string[], name: string, entries: readonly Entry[]): void {
  if (entries.length === 0) return
  lines.push('', `${name}:`)
  for (const [entry, value, comments] of entries) {
    lines.push(...comments.map(text => `  # ${text}`.trimEnd()), `  ${scalarYaml(entry)}:${entryYaml(value, 2)}`)
  }
}

function modelValue({ targets, settings }: Model): Json {
  const shown = targets.map(({ upstream, as, ...others }): Json => {
    // The name there is not ours, and no variable is in it.
    const rest = { as: as?.replaceAll('${', () => '$${'), ...others }
    const kept = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
    return Object.keys(kept).length === 0 ? upstream : { upstream, ...kept }
  })
  const [only] = shown
  if (Object.keys(settings).length === 0) return shown.length === 1 && only !== undefined ? only : shown
  if (shown.length === 1 && typeof only === 'object') return { ...(only as JsonObject), ...settings }
  return { targets: shown, ...settings }
}
