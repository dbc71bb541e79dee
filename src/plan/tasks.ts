import type { Config } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { TaskCall, TaskRoute, TaskTarget } from '../core/plan.js'
import {
  type Path,
  type PointerList,
  TASK_CALLS,
  type TaskCallName,
  type TaskRouteConfig,
  type TaskShape,
  type TaskShapeConfig,
  type TaskVerdict,
  taskFamily,
} from '../core/task.js'
import type { TaskKind } from '../core/task-kind.js'
import { parsePath } from '../wire/json-edit.js'
import { mergeTimeouts } from './settings.js'
import type { CompiledUpstream, Endpoint } from './upstreams.js'
import { compileVerbs } from './verbs.js'

/** What a route does with tasks, with all that is known of them at each upstream that it may have begun them at. */
export function compileTaskRoute(
  { action, of, member, label, signed, webhook, pollHeader, notReady, runs, shape }: TaskRouteConfig,
  kind: TaskKind,
  protocol: string | undefined,
  upstreams: ReadonlyMap<string, CompiledUpstream>,
  config: Pick<Config, 'protocols' | 'timeouts'>,
): TaskRoute {
  const targets = new Map<string, readonly TaskTarget[]>()
  for (const [name, compiled] of protocol === undefined ? [] : upstreams) {
    if (compiled.upstream.off !== undefined) continue
    const found = [compiled, ...compiled.others, ...compiled.former].flatMap(
      one => taskTargetOf(protocol ?? '', one, shape, config) ?? [],
    )
    if (found.length > 0) targets.set(name, found)
  }
  return {
    kind,
    action,
    parameter: of,
    member,
    label,
    signed: signed === true,
    webhook,
    pollHeader,
    notReady,
    runs: runs === undefined ? undefined : { path: runs.slice(runs.indexOf(' ') + 1), shape: compileShape([shape]) },
    target: (upstream, credential) => {
      const found = targets.get(upstream)
      return found?.find(one => one.upstream.credential === credential) ?? found?.[0]
    },
  }
}

/** How tasks of a protocol are followed at an upstream. */
export function taskTargetOf(
  protocol: string,
  { upstream, endpoints, config: written }: CompiledUpstream,
  shape: TaskShapeConfig,
  config: Pick<Config, 'protocols' | 'timeouts'>,
): TaskTarget | undefined {
  const family = taskFamily(protocol)
  const endpoint = endpoints.get(protocol)
  if (endpoint === undefined) return undefined
  const layers = [config.protocols[family]?.task, config.protocols[protocol]?.task, shape]
  const own = [endpoints.get(family)?.task, endpoint.task]
  const calls = TASK_CALLS.flatMap(name => {
    const found = endpoints.get(`${family}.${name}`)
    return found === undefined ? [] : [[name, callOf(found)] as const]
  })
  return {
    upstream,
    shape: compileShape([...layers, ...own, ...written.tasks].flatMap(layer => layer ?? [])),
    calls: Object.fromEntries(calls) as Partial<Record<TaskCallName, TaskCall>>,
    timeouts: mergeTimeouts(config.timeouts, written.timeouts),
  }
}

function callOf({ call, request, response }: Endpoint): TaskCall {
  return { call, request: compileVerbs(request), response: compileVerbs(response) }
}

/** Later layers win, member by member. */
function compileShape(layers: readonly TaskShapeConfig[]): TaskShape {
  const last = <K extends keyof TaskShapeConfig>(name: K): TaskShapeConfig[K] | undefined =>
    layers.findLast(layer => layer[name] !== undefined)?.[name]
  const poll = Object.assign({}, ...layers.map(layer => layer.poll)) as NonNullable<TaskShapeConfig['poll']>
  const states = layers.flatMap(layer => Object.entries(layer.states ?? {}))
  const error = last('error')
  const every = poll.every ?? DEFAULTS.taskPoll.every
  const deadline = last('deadline') ?? DEFAULTS.task.deadline
  return {
    id: pathsOf(last('id')),
    state: pathsOf(last('state')),
    states: new Map(states.map(([word, state]) => [word.toLowerCase(), state])),
    progress: pathsOf(last('progress')),
    result: namedPaths(last('result')),
    error: { code: pathsOf(error?.code), message: pathsOf(error?.message) },
    proof: pathsOf(last('proof')),
    verdict: compileVerdict(last('verdict')),
    fields: namedPaths(Object.assign({}, ...layers.map(layer => layer.fields))),
    poll: {
      every,
      first: poll.first ?? every,
      slowest: Math.max(poll.slowest ?? DEFAULTS.taskPoll.slowest, every),
      concurrency: poll.concurrency ?? DEFAULTS.taskPoll.concurrency,
      client_every: poll.client_every ?? every,
    },
    deadline,
    grace: last('grace') ?? DEFAULTS.task.grace,
    stall: last('stall'),
    retention: last('retention') ?? DEFAULTS.task.retention,
    maxInline: last('maxInline') ?? DEFAULTS.task.max_inline,
    trustedHosts: new Set(last('trustedHosts')),
  }
}

function compileVerdict(written: TaskShapeConfig['verdict']): TaskVerdict | undefined {
  if (written === undefined) return undefined
  const { at, accepted, busy, message } = written
  return { at: pathsOf(at), accepted: new Set(accepted), busy: new Set(busy), message: pathsOf(message) }
}

function pathsOf(pointers: PointerList = []): readonly Path[] {
  return pointers.map(parsePath)
}

function namedPaths(written: Readonly<Record<string, PointerList>> = {}): ReadonlyMap<string, readonly Path[]> {
  return new Map(Object.entries(written).map(([name, pointers]) => [name, pathsOf(pointers)]))
}
