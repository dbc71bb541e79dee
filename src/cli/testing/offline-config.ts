import { readFile } from 'node:fs/promises'
import { sep } from 'node:path'
import type { Document } from '../../config/document.js'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { Source } from '../../config/source.js'
import type { Config } from '../../core/config.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { packageRoot } from '../../core/package-root.js'
import type { DocumentPath } from '../../core/path-text.js'
import type { Position } from '../../core/problems.js'
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

  /** Puts the main file and those that it includes together. */
  static async of(file: string, sources: readonly string[], config: Config): Promise<OfflineConfig> {
    const shipped = ['routes', 'schemas'].map(folder => [packageRoot(), folder, ''].join(sep))
    const others = sources.filter(
      source => source !== file && /\.ya?ml$/.test(source) && !shipped.some(folder => source.startsWith(folder)),
    )
    const documents = (await Promise.all([file, ...others].map(documentOf))).flatMap(one => one ?? [])
    const merged: Record<string, Json> = {}
    for (const { tree } of documents) {
      for (const [section, value] of Object.entries(isObject(tree.value) ? tree.value : {})) {
        const before = merged[section]
        merged[section] = isObject(before) && isObject(value) ? { ...before, ...value } : value
      }
    }
    for (const section of LEFT_OUT) delete merged[section]
    return new OfflineConfig(merged, config, documents)
  }

  get keys(): readonly string[] {
    return entriesOf(this.#merged.keys).map(([name]) => name)
  }

  get declared(): Pick<Config, 'models' | 'keys'> {
    return this.#config
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
      const isOwn = base.startsWith('embedded:') && script === undefined
      if (script?.recordings !== undefined) return [name, { ...upstream, recordings: script.recordings }]
      return [
        name,
        isOwn ? upstream : redirected(upstream, baseOf(name, base.startsWith('http') ? base : 'http://host')),
      ]
    })
    return JSON.stringify({
      ...this.#merged,
      log: { level: 'info', format: 'json' },
      store: { type: 'memory' },
      keys: Object.fromEntries(keys),
      upstreams: Object.fromEntries(upstreams),
    })
  }
}

export const UPSTREAM_VARIABLE = 'GATEWAY_TEST_UPSTREAM'

/** The variable with the secret of a key, by the key's place. */
export function keyVariable(at: number): string {
  return `GATEWAY_TEST_KEY_${at + 1}`
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

/** Undefined: the file holds nothing. */
async function documentOf(file: string): Promise<Document | undefined> {
  return parse(new Source(file, await readFile(file, 'utf8')), false, new Report())
}
