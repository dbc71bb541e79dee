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
import { DEFAULTS } from '../../src/core/defaults.generated.js'
import type { RouteFraming } from '../../src/core/route-settings.js'
import { Secret } from '../../src/core/secret.js'
import { atOnce } from '../../src/core/steps.js'
import type { Violation } from '../../src/core/violation.js'
import { type Compiled, compiling, type Tools } from '../../src/plan/compile.js'

/** A configuration with nothing in it but defaults, and what a test says. */
export function configOf(parts: Partial<Config> = {}): Config {
  return {
    listen: DEFAULTS.listen,
    limits: DEFAULTS.limits,
    timeouts: DEFAULTS.timeouts,
    retry: DEFAULTS.retry,
    health: DEFAULTS.healthRule,
    store: { type: 'memory', path: join('/', 'data') },
    spool: { path: join('/', 'data', 'spool'), ...DEFAULTS.spool },
    log: DEFAULTS.log,
    features: {},
    transport: DEFAULTS.transport,
    workers: DEFAULTS.workers,
    media: {},
    tasks: DEFAULTS.tasks,
    groups: {},
    keys: {},
    upstreams: {},
    models: {},
    protocols: {},
    resource_kinds: {},
    task_kinds: {},
    routes: {},
    schemas: {},
    response_schemas: {},
    checks: [],
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
    previousSecrets: [],
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

/** A route of the protocol `chat` that reads model and stream from the body. */
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
    references: {},
    modelHints: [],
    requiresAllModels: false,
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
