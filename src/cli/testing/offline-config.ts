import { dirname, resolve } from 'node:path'
import type { Document } from '../../config/document.js'
import { MAX_KEPT_BYTES, type SourceFile } from '../../config/files.js'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { Source } from '../../config/source.js'
import type { Config, CredentialConfig } from '../../core/config.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { DocumentPath } from '../../core/path-text.js'
import type { Position } from '../../core/problems.js'
import { CommandError, EXIT } from '../io.js'
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
  'overload',
]
/** Settings of an upstream that are about the way to it. */
const ABOUT_THE_WAY = ['proxy', 'tls', 'http2', 'pool', 'secrets', 'previous_secrets', 'health', 'recordings']

/** A configuration that runs offline: the same keys, models, routes and limits, with other secrets and addresses. */
export class OfflineConfig {
  readonly #config: Config
  /** Each with its own text, so that what it names is relative to its own folder. */
  readonly #documents: readonly Document[]

  /** Files that it is read from. */
  readonly sources: readonly string[]

  /** Names of its keys. */
  readonly keys: readonly string[]

  /** `files`: all of the configuration, the main one first. */
  constructor(files: readonly SourceFile[] | undefined, config: Config) {
    if (files === undefined)
      throw new CommandError(`the configuration has more than ${MAX_KEPT_BYTES} bytes`, EXIT.failed)
    this.sources = files.map(({ path }) => path)
    this.#documents = files.flatMap(file => documentOf(file) ?? [])
    this.keys = [...new Set(this.#documents.flatMap(({ tree }) => Object.keys(sectionOf(tree.value, 'keys'))))]
    this.#config = config
  }

  get main(): string {
    const [main] = this.sources
    if (main === undefined) throw new Error('a configuration has a file')
    return main
  }

  get declared(): Pick<Config, 'models' | 'keys'> {
    return this.#config
  }

  get timeZone(): string {
    return this.#config.accounting?.timeZone ?? 'UTC'
  }

  /** Whether requests may wait for limits. */
  get queues(): boolean {
    return this.#documents.some(({ tree }) => holdsQueue(tree.value))
  }

  /** Where something of the configuration is written. */
  positionOf(path: DocumentPath): Position {
    const [main] = this.#documents
    const found = this.#documents.find(({ tree }) => tree.has(path)) ?? main
    if (found === undefined) throw new Error('a configuration has a file')
    return found.spot(path, 'value').position
  }

  /** Its files as they are loaded; JSON is YAML. `baseOf` gives the address of a scripted upstream. */
  files(
    scripts: Readonly<Record<string, Script>>,
    baseOf: (upstream: string, base: string) => string,
  ): readonly SourceFile[] {
    return this.#documents.map(({ source, tree }, index) => {
      const left = Object.entries(isObject(tree.value) ? tree.value : {}).filter(([name]) => !LEFT_OUT.includes(name))
      const made: Record<string, Json> = { ...Object.fromEntries(left), ...(index === 0 && OWN) }
      if (made.keys !== undefined) made.keys = changed(made.keys, (name, key) => this.#key(name, key))
      if (made.upstreams !== undefined)
        made.upstreams = changed(made.upstreams, (name, one) => this.#upstream(name, one, scripts[name], baseOf))
      if (isObject(made.identity)) made.identity = withoutIssuers(made.identity)
      return { path: source.file, bytes: Buffer.from(JSON.stringify(made)) }
    })
  }

  #key(name: string, key: JsonObject): JsonObject {
    return { ...key, secret: { env: keyVariable(this.keys.indexOf(name)) } }
  }

  #upstream(
    name: string,
    upstream: JsonObject,
    script: Script | undefined,
    baseOf: (upstream: string, base: string) => string,
  ): JsonObject {
    const { base = '', credential } = this.#config.upstreams[name] ?? {}
    const isOwn = base.startsWith('embedded:') && (script === undefined || script.simulator !== undefined)
    if (script?.recordings !== undefined)
      return { ...upstream, recordings: resolve(dirname(this.main), script.recordings) }
    const address = base.startsWith('http') ? base : 'http://host'
    const kept = credential === undefined ? upstream : withoutRequests(upstream, credential)
    const made = isOwn ? kept : redirected(kept, baseOf(name, address))
    return script?.simulator === undefined ? made : withFaults(made, script.simulator)
  }
}

/** Stands for an address that a test must not ask: nothing is there (RFC 6761). */
const NOWHERE = 'https://issuer.invalid/'

/** Providers of identities whose keys are in a file check tokens as before; issuers are not asked. */
function withoutIssuers(identity: JsonObject): JsonObject {
  if (identity.providers === undefined) return identity
  const providers = changed(identity.providers, (_, { introspection, ...provider }) => ({
    ...provider,
    ...(provider.jwks_file === undefined && { jwks: NOWHERE }),
    ...(isObject(introspection) && { introspection: { ...introspection, url: NOWHERE } }),
  }))
  return { ...identity, providers }
}

/** What the main file says of the process. How busy this machine is decides no test, and a clock that is moved looks like a busy one. */
const OWN = { log: { level: 'info', format: 'json' }, store: { type: 'memory' }, overload: 'off' }

function changed(section: Json, change: (name: string, entry: JsonObject) => JsonObject): Json {
  if (!isObject(section)) return section
  const entries = Object.entries(section)
  return Object.fromEntries(entries.map(([name, entry]) => [name, change(name, isObject(entry) ? entry : {})]))
}

function holdsQueue(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, one]) => (name === 'limits' && isObject(one) && one.queue !== undefined) || holdsQueue(one),
  )
}

/** What the simulator reads faults from. */
const FAULTS_HEADER = 'x-simulate'
/** Never set: the secrets of upstreams are assumed, and so the variables of their kinds need no value either. */
const UPSTREAM_VARIABLE = 'GATEWAY_TEST_UPSTREAM'

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

/**
 * With a secret instead of what a command or a token server would give, and signed with a key that is no one's. Modules are run as
 * those of checks are.
 */
function withoutRequests(upstream: JsonObject, { source, place }: CredentialConfig): JsonObject {
  if (source === undefined || source.type === 'module') return upstream
  const kept = Object.entries(upstream).filter(([name]) => name !== 'secret' && name !== 'secrets')
  const secret = { env: UPSTREAM_VARIABLE }
  const credential =
    source.type === 'aws-sigv4'
      ? {
          ...{ type: source.type, service: source.service, region: source.region, payload: source.payload },
          ...{ access_key_id: 'test', secret },
        }
      : { ...place, secret }
  return { ...Object.fromEntries(kept), credential }
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

function sectionOf(value: Json, name: string): JsonObject {
  const section = isObject(value) ? value[name] : undefined
  return isObject(section) ? section : {}
}

/** Undefined: the file holds nothing. */
function documentOf({ path, bytes }: SourceFile): Document | undefined {
  return parse(new Source(path, Buffer.from(bytes).toString('utf8')), false, new Report())
}
