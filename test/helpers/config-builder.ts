import { join } from 'node:path'
import type {
  Config,
  EndpointConfig,
  KeyConfig,
  ModelConfig,
  RouteConfig,
  TargetConfig,
  UpstreamConfig,
} from '../../src/core/config.js'
import type { Limits, Retry, Timeouts } from '../../src/core/limits.js'
import type { Violation } from '../../src/core/plan.js'
import type { RouteFraming } from '../../src/core/route-settings.js'
import { Secret } from '../../src/core/secret.js'
import { atOnce } from '../../src/core/steps.js'
import { type Compiled, compiling, type Tools } from '../../src/plan/compile.js'

export const TIMEOUTS: Timeouts = {
  queue: 5000,
  connect: 3000,
  first_byte: 300_000,
  idle: 120_000,
  total: 1_800_000,
}
export const RETRY: Retry = { attempts: 3, on: ['connect', 'reset', 429, 500, 502, 503, 504, 529] }
export const LIMITS: Limits = {
  body: 32 * 1024 * 1024,
  url: 8192,
  header_bytes: 16_384,
  header_count: 100,
  depth: 64,
  parts: 256,
  field: 1024 * 1024,
  fields: 4 * 1024 * 1024,
  members: 10_000,
  conversation_items: 10_000,
  values: 1_000_000,
  memory: 256 * 1024 * 1024,
  body_memory: 256 * 1024 * 1024,
  line: 1024 * 1024,
  event: 4 * 1024 * 1024,
  response: 64 * 1024 * 1024,
  connections: 512,
  queue: 1024,
  in_flight: 10_000,
  sessions: 100,
  headers: 10_000,
  upload: 300_000,
  stall: 120_000,
  keep_alive: 75_000,
  drain: 30_000,
}

/** A configuration with nothing in it but defaults, and what a test says. */
export function configOf(parts: Partial<Config> = {}): Config {
  return {
    listen: { host: '127.0.0.1', port: 8080, backlog: 4096 },
    limits: LIMITS,
    timeouts: TIMEOUTS,
    retry: RETRY,
    store: { type: 'memory', path: join('/', 'data') },
    spool: { path: join('/', 'data', 'spool'), body: 262_144, memory: 67_108_864, disk: 2_147_483_648 },
    log: { level: 'info' },
    media: {},
    tasks: { lease: 30_000, wait: 30_000 },
    keys: {},
    upstreams: {},
    models: {},
    protocols: {},
    objects: {},
    task_kinds: {},
    routes: {},
    schemas: {},
    ...parts,
  }
}

export function keyOf(key: string, parts: Partial<KeyConfig> = {}): KeyConfig {
  return {
    secrets: [{ type: 'plain', secret: new Secret(key) }],
    models: ['*'],
    disabled: false,
    strict: false,
    ...parts,
  }
}

/** An endpoint, as `POST /v1/chat`. */
export function callOf(text: string, parts: Partial<EndpointConfig> = {}): EndpointConfig {
  const space = text.indexOf(' ')
  const call = { method: text.slice(0, space), target: text.slice(space + 1) }
  return { call, request: [], response: [], ...parts }
}

/** An upstream that speaks `chat`. */
export function upstreamOf(base: string, parts: Partial<UpstreamConfig> = {}): UpstreamConfig {
  return {
    base,
    former: [],
    passesUnknown: false,
    headers: {},
    forward: { request: [], response: [], trace: true },
    speaks: { chat: callOf('POST /v1/chat/completions') },
    timeouts: {},
    retry: {},
    request: [],
    response: [],
    tasks: [],
    traits: {},
    ...parts,
  }
}

/** A target by its upstream's name, or with more said. */
type TargetLike = string | ({ readonly upstream: string } & Partial<TargetConfig>)

export function modelOf(targets: TargetLike | readonly TargetLike[], parts: Partial<ModelConfig> = {}): ModelConfig {
  const list: readonly TargetLike[] = Array.isArray(targets) ? targets : [targets as TargetLike]
  const full = list.map(one => ({
    traits: {},
    request: [],
    response: [],
    ...(typeof one === 'string' ? { upstream: one } : one),
  }))
  return { targets: full, request: [], response: [], timeouts: {}, retry: {}, traits: {}, strict: false, ...parts }
}

export const SSE: RouteFraming = { byDefault: 'sse', parameter: undefined, values: {} }

/** A route of the protocol `chat` whose model and stream stand in the body. */
export function routeOf(parts: Partial<RouteConfig> = {}): RouteConfig {
  return {
    caller: [{ in: 'header', name: 'authorization', scheme: 'Bearer' }],
    errors: 'compatible',
    families: [],
    protocol: 'chat',
    model: { from: 'body', name: 'model' },
    stream: { from: 'body', name: 'stream' },
    framing: SSE,
    strict: false,
    timeouts: {},
    retry: {},
    limits: {},
    names: {},
    holder: [],
    everyModel: false,
    body: 'json',
    shipped: false,
    ...parts,
  }
}

/** A route without model and stream, such as one that a fixed upstream serves. */
export function plainRoute(parts: Partial<RouteConfig> = {}): RouteConfig {
  const { model: _, ...rest } = routeOf({ stream: 'never', body: 'none', ...parts })
  return rest
}

/** A route that the gateway answers itself. */
export function answerRoute(answer: 'models' | 'model', parts: Partial<RouteConfig> = {}): RouteConfig {
  const { protocol: _, ...rest } = plainRoute({ answer })
  return { ...rest, ...parts }
}

export const CHAT_ROUTE = 'POST /v1/chat/completions'

/** The parts of a configuration with the chat route and the upstreams `north` and `south`. */
export function chatConfig(parts: Partial<Config> = {}): Config {
  return configOf({
    upstreams: { north: upstreamOf('https://north.example'), south: upstreamOf('https://south.example') },
    routes: { [CHAT_ROUTE]: routeOf() },
    ...parts,
  })
}

/** Compiles with a schema compiler that finds nothing wrong with anything, and makes no keys. */
export function compiled(config: Config, tools: Partial<Tools> = {}): Compiled {
  const accept = (): readonly Violation[] => []
  return atOnce(compiling(config, 'digest', { compileSchema: () => accept, generated: () => undefined, ...tools }))
}
