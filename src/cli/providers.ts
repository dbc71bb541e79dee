import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from '../config/parse.js'
import { Report } from '../config/report.js'
import { Source } from '../config/source.js'
import { isObject, type JsonObject } from '../core/json.js'
import { packageRoot } from '../core/package-root.js'

/** A shipped kind of upstream, as `init` offers it. */
export interface Provider {
  /** Name of the kind. */
  readonly name: string
  readonly description: string
  /** Where it is reached; absent where only the user can know. */
  readonly base: string | undefined
  /** The variable that its key is usually in; the description says so. */
  readonly variable: string | undefined
  /** Whether requests are signed for a region, which the address of the upstream names. */
  readonly hasRegion: boolean
  /** Whether it can take a key at all. */
  readonly takesSecret: boolean
  /** Whether requests of other protocols are translated to one that wants a limit on every answer. */
  readonly wantsLimit: boolean
  /** The models that shipped routes choose by words of their own, as such an upstream can serve them, each with its word. */
  readonly models: ReadonlyMap<string, string>
  /** Whether requests reach it that name any model. */
  readonly anyModel: boolean
  /** The protocols that it speaks, each with its call. */
  readonly speaks: JsonObject
}

/** The shipped kinds that speak a protocol which some shipped route serves, by name. */
export async function providers(): Promise<readonly Provider[]> {
  const folder = join(packageRoot(), 'routes')
  const [kinds, files] = await Promise.all([readAll(join(folder, 'kinds')), readAll(folder)])
  const served = new Set([...files.values()].flatMap(file => Object.keys(objectAt(file, 'protocols'))))
  // Of the simulator one is enough to begin with: the kinds that build on it are for trying translation. Recordings come later.
  const offered = [...kinds.keys()].filter(
    name => kinds.get(name)?.kind !== 'simulator' && !name.startsWith('simulator-') && name !== 'recorded',
  )
  const useful = offered.filter(name =>
    Object.keys(callsOf(lineage(kinds, name))).some(protocol => served.has(protocol)),
  )
  const routes = [...files.values()].flatMap(file => Object.values(objectAt(file, 'routes'))).filter(isObject)
  return useful.map(name => provider(name, lineage(kinds, name), routes))
}

/** The YAML files of a folder, by name. */
async function readAll(folder: string): Promise<ReadonlyMap<string, JsonObject>> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.yaml')).sort()
  const contents = await Promise.all(files.map(file => readYaml(join(folder, file))))
  return new Map(files.map((file, index) => [file.slice(0, -'.yaml'.length), contents[index] ?? {}]))
}

async function readYaml(file: string): Promise<JsonObject> {
  const document = parse(new Source(file, await readFile(file, 'utf8')), true, new Report())
  const value = document?.tree.value
  return isObject(value) ? value : {}
}

/** A kind, its kind, and so on outwards. */
function lineage(kinds: ReadonlyMap<string, JsonObject>, name: string): readonly JsonObject[] {
  const layers = new Set<JsonObject>()
  for (let layer = kinds.get(name); layer !== undefined && !layers.has(layer); layer = kinds.get(String(layer.kind))) {
    layers.add(layer)
  }
  return [...layers]
}

function callsOf(layers: readonly JsonObject[]): JsonObject {
  const all: JsonObject = Object.assign({}, ...layers.map(layer => objectAt(layer, 'speaks')).reverse())
  return Object.fromEntries(Object.entries(all).filter(([, call]) => call !== 'off'))
}

function provider(name: string, layers: readonly JsonObject[], routes: readonly JsonObject[]): Provider {
  const description = String(layers[0]?.description ?? '')
  const speaks = callsOf(layers)
  const protocols = Object.keys(speaks)
  const reached = routes.filter(({ protocol }) => typeof protocol === 'string' && protocols.includes(protocol))
  const base = layers.find(layer => layer.base !== undefined)?.base
  return {
    name,
    description,
    base: typeof base === 'string' ? base : undefined,
    variable: /key is usually in ([A-Z][A-Z0-9_]*)/.exec(description)?.[1],
    hasRegion: layers.some(({ credential }) => isObject(credential) && credential.type === 'aws-sigv4'),
    takesSecret: layers.some(layer => layer.credential !== undefined),
    models: new Map(reached.flatMap(({ model }) => wordsOf(model))),
    speaks,
    anyModel: reached.some(({ model }) => typeof model === 'string'),
    wantsLimit: protocols.includes('messages') && !protocols.includes('responses'),
  }
}

/** Models by what requests say for them: `[swift, "body.bot: SWIFT, or nothing"]`. */
function wordsOf(pointer: unknown): readonly (readonly [string, string])[] {
  if (!isObject(pointer)) return []
  return Object.entries(objectAt(pointer, 'values')).map(([word, model]) => {
    const usual = model === pointer.default ? ', or nothing' : ''
    return [String(model), `${pointer.from}: ${word}${usual}`]
  })
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isObject(value) ? value : {}
}
