import type { Caller } from '../core/caller.js'
import type { Plan } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import type { SwitchedOff } from '../core/switched-off.js'
import type { Log } from '../sinks/log.js'
import type { HttpExchange, HttpRequest } from '../transport/exchange.js'
import { shownEntries } from './shown.js'

/** What the health routes and, later, the metrics report about a running gateway. */
export interface Health {
  draining: boolean
  generation: number
  digest: string
  /** Reloads that took effect, that failed, that found nothing new, that were tried first, and of these those that went back. */
  readonly reloads: { applied: number; failed: number; unchanged: number; tried: number; back: number }
  /** Of a configuration at an address: how its requests ended. */
  fetches?: Readonly<Record<'changed' | 'same' | 'refused' | 'failed', number>>
  /** False while the files on disk do not compile and the last good plan serves. */
  valid: boolean
  /** The problems of the last failed reload. */
  problems: readonly Problem[]
  /** Settings that the files ask for and that only a restart can apply. */
  restart: readonly string[]
  /** What the plan declares and does not serve. */
  off: SwitchedOff
  /** Why secrets could not be fetched from their managers the last time. */
  secrets: Readonly<Record<string, string>>
  /** Requests that need no store are served without one, so that it decides nothing about being ready. */
  readonly store: { readonly type: string; readonly state: { readonly reason: string | undefined } }
}

export function healthOf(plan: Plan, state: Health['store']['state']): Health {
  return {
    draining: false,
    generation: 1,
    digest: plan.digest,
    reloads: { applied: 0, failed: 0, unchanged: 0, tried: 0, back: 0 },
    valid: true,
    problems: [],
    restart: [],
    off: plan.off,
    secrets: {},
    store: { type: plan.store.type, state },
  }
}

/** What all workers of a gateway have in common: the supervisor knows it. */
export type CommonHealth = Pick<
  Health,
  'generation' | 'digest' | 'reloads' | 'fetches' | 'valid' | 'problems' | 'restart' | 'secrets'
>

export function commonOf(health: Health): CommonHealth {
  const { generation, digest, reloads, fetches, valid, problems, restart, secrets } = health
  const common = { generation, digest, reloads, valid, problems, restart, secrets }
  return { ...common, ...(fetches === undefined ? {} : { fetches }) }
}

export function takeCommon(health: Health, { reloads, ...common }: CommonHealth): void {
  Object.assign(health, common)
  Object.assign(health.reloads, reloads)
}

/** Callers of these models get "model not found". */
export function logDisabled({ off: { upstreams, models } }: Plan, log: Log): void {
  if (upstreams.size === 0) return
  log.warn({ upstreams: shownEntries(upstreams), models: shownEntries(models) }, 'upstreams are off')
}

/** Of a caller's models: lists by name, such as which upstreams rest because they fail, and why. */
type Shown = (caller: Caller) => Readonly<Record<string, ReadonlyMap<string, string>>>

/**
 * Answers `/livez` and `/readyz`; false for any other path. `/livez` says that the process runs; `/readyz` says whether
 * it takes work, and with `?verbose` and a key that the gateway knows, what is wrong with the files on disk and which
 * models of that key are off. `known` gives whose key a request presents.
 */
export function answerHealth(
  exchange: HttpExchange,
  health: Health,
  known: (request: HttpRequest) => Promise<Caller | undefined>,
  shown: Shown,
): boolean {
  const { method, target: url } = exchange
  if (url !== '/livez' && url !== '/readyz' && url !== '/readyz?verbose') return false
  if (method !== 'GET' && method !== 'HEAD') {
    send(exchange, 405, { status: 'method not allowed' }, ['allow', 'GET, HEAD'])
    return true
  }
  const ready = (caller: Caller | undefined): void =>
    send(exchange, health.draining ? 503 : 200, readiness(health, caller, shown))
  if (url === '/livez') send(exchange, 200, { status: 'live' })
  else if (url === '/readyz') ready(undefined)
  else void known(exchange).then(ready)
  return true
}

function readiness(health: Health, caller: Caller | undefined, shown: Shown): object {
  const { draining, generation, digest, reloads, valid, problems, restart, store, secrets } = health
  const faults = new Map(Object.entries(secrets))
  const config = { valid, generation, digest: digest.slice(0, 16), reloads, problems: problems.length }
  const { reason } = store.state
  const body = {
    status: draining ? 'draining' : 'ready',
    config,
    store: {
      type: store.type,
      usable: reason === undefined,
      ...(caller !== undefined && reason !== undefined && { reason }),
    },
  }
  if (caller === undefined) return body
  return {
    ...body,
    problems: problems.map(describe),
    needs_restart: restart,
    off: offFor(caller, health.off),
    ...(faults.size === 0 ? {} : { secrets: shownEntries(faults) }),
    ...Object.fromEntries(Object.entries(shown(caller)).map(([name, entries]) => [name, shownEntries(entries)])),
  }
}

/** Only the models that the key may use: others stay unknown to it. */
function offFor(caller: Caller, off: SwitchedOff): object {
  const models = new Map([...off.models].filter(([name]) => caller.may(name)))
  return { upstreams: shownEntries(off.upstreams), models: shownEntries(models) }
}

function describe(problem: Problem): string {
  const { position, path, message } = problem
  return `${position.file}:${position.line}:${position.column} ${path} ${message}`
}

function send(exchange: HttpExchange, status: number, body: object, headers: string[] = []): void {
  exchange.head(status, ['content-type', 'application/json', 'cache-control', 'no-store', ...headers])
  exchange.end(`${JSON.stringify(body)}\n`)
}
