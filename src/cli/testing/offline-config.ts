import { readFile, stat } from 'node:fs/promises'
import type { Document } from '../../config/document.js'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { Source } from '../../config/source.js'
import type { Config } from '../../core/config.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { DocumentPath } from '../../core/path-text.js'
import type { Position } from '../../core/problems.js'
import { ownFiles } from '../loading.js'
import type { Script } from './test-file.js'

/** Sections that reach beyond the process, or keep something after it. */
const LEFT_OUT = [
  'include',
  'listen',
  'admin',
  'telemetry',
  'webhooks',
  'workers',
  'receipts',
  'record',
  'egress',
  'log',
  'store',
]
/** Settings of an upstream that are about the way to it. */
const ABOUT_THE_WAY = ['proxy', 'tls', 'http2', 'pool', 'secrets', 'previous_secrets', 'health', 'recordings']

/** A configuration that runs offline: the same keys, models, routes and limits, with other secrets and addresses. */
export class OfflineConfig {
  readonly #merged: JsonObject
  readonly #config: Config
  readonly #documents: readonly Document[]

  /** Files that it is read from. */
  readonly sources: readonly string[]

  private constructor(merged: JsonObject, config: Config, documents: readonly Document[]) {
    this.sources = documents.map(({ source }) => source.file)
    this.#documents = documents
    this.#merged = merged
    this.#config = config
  }

  /** Puts the main file, or the files of a folder, and those that they include together. */
  static async of(file: string, sources: readonly string[], config: Config): Promise<OfflineConfig> {
    const isFolder = (await stat(file)).isDirectory()
    const others = ownFiles(sources).filter(source => source !== file && /\.ya?ml$/.test(source))
    const documents = (await Promise.all([...(isFolder ? [] : [file]), ...others].map(documentOf))).flatMap(
      one => one ?? [],
    )
    const merged: Record<string, Json> = {}
    for (const { tree } of documents) {
      for (const [section, value] of Object.entries(withOwnDefaults(tree.value))) {
        const before = merged[section]
        merged[section] = isObject(before) && isObject(value) ? { ...before, ...value } : value
      }
    }
    for (const section of LEFT_OUT) delete merged[section]
    const shipped = documents.flatMap(({ tree }) => shippedIn(tree.value))
    if (shipped.length > 0) merged.include = [...new Set(shipped)]
    return new OfflineConfig(merged, config, documents)
  }

  /** The file whose place the text takes; what the text names is relative to it. */
  get main(): string {
    const [main] = this.sources
    if (main === undefined) throw new Error('a configuration has a file')
    return main
  }

  get keys(): readonly string[] {
    return entriesOf(this.#merged.keys).map(([name]) => name)
  }

  get declared(): Pick<Config, 'models' | 'keys'> {
    return this.#config
  }

  get timeZone(): string {
    return this.#config.accounting?.timeZone ?? 'UTC'
  }

  /** Whether requests may wait for limits. */
  get queues(): boolean {
    return holdsQueue(this.#merged)
  }

  /** Where something of the merged configuration is written. */
  positionOf(path: DocumentPath): Position {
    const [main] = this.#documents
    const found = this.#documents.find(({ tree }) => tree.has(path)) ?? main
    if (found === undefined) throw new Error('a configuration has a file')
    return found.spot(path, 'value').position
  }

  /** The text of gateway.yaml; JSON is YAML. `baseOf` gives the address of a scripted upstream. */
  text(scripts: Readonly<Record<string, Script>>, baseOf: (upstream: string, base: string) => string): string {
    const keys = entriesOf(this.#merged.keys).map(([name, key], at) => [
      name,
      { ...key, secret: { env: keyVariable(at) } },
    ])
    const upstreams = entriesOf(this.#merged.upstreams).map(([name, upstream]) => {
      const { base = '' } = this.#config.upstreams[name] ?? {}
      const script = scripts[name]
      const isOwn = base.startsWith('embedded:') && (script === undefined || script.simulator !== undefined)
      if (script?.recordings !== undefined) return [name, { ...upstream, recordings: script.recordings }]
      const address = base.startsWith('http') ? base : 'http://host'
      const made = isOwn ? upstream : redirected(upstream, baseOf(name, address))
      return [name, script?.simulator === undefined ? made : withFaults(made, script.simulator)]
    })
    return JSON.stringify({
      ...this.#merged,
      log: { level: 'info', format: 'json' },
      store: { type: 'memory' },
      // How busy this machine is decides no test, and a clock that is moved looks like a busy one.
      overload: 'off',
      keys: Object.fromEntries(keys),
      upstreams: Object.fromEntries(upstreams),
    })
  }
}

/** The defaults of a file are for its routes alone: written into these, they stay so in one file of all. */
function withOwnDefaults(value: Json): JsonObject {
  if (!isObject(value)) return {}
  const { defaults, routes, ...rest } = value
  if (!isObject(routes)) return rest
  const own = Object.entries(routes).map(([name, route]) => [
    name,
    isObject(route) && isObject(defaults) ? { ...defaults, ...route } : route,
  ])
  return { ...rest, routes: Object.fromEntries(own) }
}

function holdsQueue(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, one]) => (name === 'limits' && isObject(one) && one.queue !== undefined) || holdsQueue(one),
  )
}

/** What the simulator reads faults from. */
const FAULTS_HEADER = 'x-simulate'
export const UPSTREAM_VARIABLE = 'GATEWAY_TEST_UPSTREAM'

/** The variable with the secret of a key, by the key's place. */
export function keyVariable(at: number): string {
  return `GATEWAY_TEST_KEY_${at + 1}`
}

/** Faults as the simulator's header has them. */
export function faultWords(faults: Simulated): string {
  return Object.entries(faults)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => (value === true ? name : `${name}=${value}`))
    .join(' ')
}

type Simulated = NonNullable<Script['simulator']>

function withFaults(upstream: JsonObject, faults: Simulated): JsonObject {
  const headers = isObject(upstream.headers) ? upstream.headers : {}
  return { ...upstream, headers: { ...headers, [FAULTS_HEADER]: faultWords(faults) } }
}

function redirected(upstream: JsonObject, base: string): JsonObject {
  const kept = Object.entries(upstream).filter(([name]) => !ABOUT_THE_WAY.includes(name))
  const made: Record<string, Json> = { ...Object.fromEntries(kept), base }
  const secret = { env: UPSTREAM_VARIABLE }
  if (upstream.secret !== undefined || upstream.secrets !== undefined) made.secret = secret
  if (isObject(made.credential) && made.credential.secret !== undefined)
    made.credential = { ...made.credential, secret }
  return made
}

function entriesOf(value: Json | undefined): readonly (readonly [string, JsonObject])[] {
  return isObject(value) ? Object.entries(value).map(([name, inner]) => [name, isObject(inner) ? inner : {}]) : []
}

/** Files that come with the gateway: they are included as before, for what they hold is not of the user's. */
function shippedIn(value: Json): readonly string[] {
  const entries = isObject(value) && Array.isArray(value.include) ? value.include : []
  return entries.filter(entry => typeof entry === 'string').filter(entry => entry.startsWith('shipped:'))
}

/** Undefined: the file holds nothing. */
async function documentOf(file: string): Promise<Document | undefined> {
  return parse(new Source(file, await readFile(file, 'utf8')), false, new Report())
}
