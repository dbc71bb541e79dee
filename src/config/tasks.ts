import type { PointerList, PollPace, TaskRouteConfig, TaskShapeConfig, TaskVerdictConfig } from '../core/task.js'
import { TASK_CALLS, taskFamily } from '../core/task.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawRouteMapping, RawTask, RawTaskPointers, RawTaskVerdict } from './raw.generated.js'
import { readDuration, readSize } from './settings.js'
import { suggest } from './suggest.js'
import type { RoutePattern } from './templates.js'

/** The default variant of an artefact. */
const CONTENT_ONLY = 'content'

/** What is said of tasks in one place. */
export function readTask(raw: RawTask, site: Site, context: Context): TaskShapeConfig {
  const duration = (name: 'deadline' | 'grace' | 'stall' | 'retention'): Partial<TaskShapeConfig> => {
    const written = raw[name]
    return written === undefined ? {} : { [name]: readDuration(written, site.child(name), context) }
  }
  const pointers = (name: 'id' | 'state' | 'progress'): Partial<TaskShapeConfig> => {
    const written = raw[name]
    return written === undefined ? {} : { [name]: listOf(written) }
  }
  return {
    ...pointers('id'),
    ...pointers('state'),
    ...pointers('progress'),
    ...(raw.states === undefined ? {} : { states: raw.states }),
    ...(raw.result === undefined ? {} : { result: readResult(raw.result) }),
    ...(raw.error === undefined ? {} : { error: readError(raw.error) }),
    ...(raw.proof === undefined ? {} : { proof: listOf(raw.proof) }),
    ...(raw.verdict === undefined ? {} : { verdict: readVerdict(raw.verdict) }),
    ...(raw.fields === undefined ? {} : { fields: named(raw.fields) }),
    ...(raw.poll === undefined ? {} : { poll: readPoll(raw.poll, site.child('poll'), context) }),
    ...duration('deadline'),
    ...duration('grace'),
    ...duration('stall'),
    ...duration('retention'),
    ...(raw.max_inline === undefined ? {} : { maxInline: readSize(raw.max_inline, site.child('max_inline'), context) }),
    ...(raw.trusted_hosts === undefined ? {} : { trustedHosts: raw.trusted_hosts }),
  }
}

function readResult(raw: NonNullable<RawTask['result']>): NonNullable<TaskShapeConfig['result']> {
  return isPointers(raw) ? { [CONTENT_ONLY]: listOf(raw) } : named(raw)
}

function readError(raw: NonNullable<RawTask['error']>): NonNullable<TaskShapeConfig['error']> {
  if (!isPointers(raw)) return { code: listOf(raw.code ?? []), message: listOf(raw.message ?? []) }
  const places = listOf(raw)
  return { code: places.map(place => `${place}.code`), message: places.flatMap(place => [`${place}.message`, place]) }
}

function readVerdict({ at, accepted, busy = [], message = [] }: RawTaskVerdict): TaskVerdictConfig {
  return { at: listOf(at), accepted: accepted.map(String), busy: busy.map(String), message: listOf(message) }
}

function readPoll(raw: NonNullable<RawTask['poll']>, site: Site, context: Context): Partial<PollPace> {
  const { concurrency, ...durations } = raw
  const read = Object.entries(durations).map(([name, text]) => [name, readDuration(text, site.child(name), context)])
  return { ...Object.fromEntries(read), ...(concurrency === undefined ? {} : { concurrency }) }
}

function named(raw: Readonly<Record<string, RawTaskPointers>>): Readonly<Record<string, PointerList>> {
  return Object.fromEntries(Object.entries(raw).map(([name, pointers]) => [name, listOf(pointers)]))
}

function listOf(raw: RawTaskPointers): PointerList {
  return typeof raw === 'string' ? [raw] : raw
}

function isPointers(raw: RawTaskPointers | object): raw is RawTaskPointers {
  return typeof raw === 'string' || Array.isArray(raw)
}

/** What a route does with tasks. */
export function readRouteTask(
  raw: RawRouteMapping,
  pattern: RoutePattern,
  site: Site,
  context: Context,
): TaskRouteConfig | undefined {
  const { task } = raw
  if (task === undefined) return undefined
  const taskSite = site.child('task')
  const { kind, action = 'submit', of: place, webhook, poll_header, label, signed, not_ready, route, ...shape } = task
  const member = place?.startsWith('body.') === true ? place.slice('body.'.length) : undefined
  const of = member === undefined ? place : undefined
  const parameter = of === undefined ? pattern.params.at(-1) : of.slice('path.'.length)
  if (of !== undefined && !pattern.params.includes(parameter ?? '')) {
    const meant = (): string | undefined => prefixed(suggest(parameter ?? '', pattern.params) ?? pattern.params[0])
    const message = `the path has no parameter {${parameter}}`
    context.report.error('unknown-parameter', taskSite.child('of'), message, { meant })
  }
  const names = member === undefined && (action === 'submit' ? of !== undefined : action !== 'list' && action !== 'run')
  if (names && parameter === undefined) {
    context.report.error('missing-key', taskSite, `nothing in the path names the task to ${action}: write {task_id}`)
  }
  return {
    kind,
    action,
    ...(names && parameter !== undefined ? { of: parameter } : {}),
    ...(member === undefined ? {} : { member }),
    ...(label === undefined ? {} : { label }),
    ...(signed === true ? { signed } : {}),
    ...(webhook === undefined ? {} : { webhook: webhook.slice('body.'.length) }),
    ...(not_ready === undefined ? {} : { notReady: not_ready }),
    ...(route === undefined ? {} : { runs: route }),
    ...(poll_header === undefined ? {} : { pollHeader: poll_header.toLowerCase() }),
    shape: readTask(shape, taskSite, context),
  }
}

function prefixed(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `path.${name}`
}

/** Whether the upstreams' calls of this name follow tasks that a route begins by one of the protocols. */
export function isTaskCall(protocol: string, begun: ReadonlySet<string>): boolean {
  const last = protocol.slice(protocol.lastIndexOf('.') + 1)
  return TASK_CALLS.some(name => name === last) && begun.has(taskFamily(protocol))
}
