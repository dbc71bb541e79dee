import type { RetryCondition } from './limits.js'

/** Where a value is in a JSON document: member names, and indices of array elements. */
export type Path = readonly string[]

/** What a route does with tasks. */
export type TaskAction = 'submit' | 'retrieve' | 'list' | 'select' | 'content' | 'cancel' | 'delete' | 'seed' | 'run'

export const TASK_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** Calls of a protocol's tasks beside the one that begins them: `videos` is followed by `videos.retrieve`. */
export const TASK_CALLS = ['retrieve', 'content', 'cancel', 'delete', 'seed'] as const
export type TaskCallName = (typeof TASK_CALLS)[number]

/** What those calls may be filled in with: our names for the upstream's id, and the artefact that is asked for. */
export const TASK_VARIABLES = ['task_id', 'id', 'model', 'variant'] as const

/** Statuses by which an upstream says that it began nothing, and may begin it later or elsewhere. */
export const TASK_BUSY: ReadonlySet<number> = new Set([429, 503, 529])

/** The protocol whose name those calls begin with: `videos` for `videos.remix`. */
export function taskFamily(protocol: string): string {
  return protocol.split('.', 1)[0] ?? protocol
}

/** Whether an upstream that failed so has certainly begun nothing: only then is the next one asked to. */
export function tookNothing(condition: RetryCondition): boolean {
  return condition === 'connect' || condition === 'queue' || (typeof condition === 'number' && TASK_BUSY.has(condition))
}

/** Dotted paths; the first that leads to something counts. */
export type PointerList = readonly string[]

/** Where an upstream's answers say what of a task, as written in one place. Durations in milliseconds. */
export interface TaskShapeConfig {
  readonly id?: PointerList
  readonly state?: PointerList
  /** What the upstream's words mean, beside those that are understood anyway. */
  readonly states?: Readonly<Record<string, TaskState>>
  readonly progress?: PointerList
  /** URLs of artefacts, by variant. */
  readonly result?: Readonly<Record<string, PointerList>>
  readonly error?: { readonly code: PointerList; readonly message: PointerList }
  /** Places of what else proves that a task made something, beside URLs of artefacts. */
  readonly proof?: PointerList
  /** Further values that are kept for clients, by name. */
  readonly fields?: Readonly<Record<string, PointerList>>
  readonly verdict?: TaskVerdictConfig
  readonly poll?: Partial<PollPace>
  readonly deadline?: number
  readonly grace?: number
  readonly stall?: number
  readonly retention?: number
  /** Bytes. */
  readonly maxInline?: number
  /** Hosts, with their ports, where results are fetched with the upstream's credential. */
  readonly trustedHosts?: readonly string[]
}

/** By which an upstream that answers every submit with status 200 says whether it took the task. */
export interface TaskVerdictConfig {
  readonly at: PointerList
  /** Values there by which it did. */
  readonly accepted: readonly string[]
  /** Values by which it may later, or another upstream now. */
  readonly busy: readonly string[]
  readonly message: PointerList
}

/** Milliseconds, and requests at a time. */
export interface PollPace {
  /** Between two polls of a task. */
  readonly every: number
  /** Before the first one. */
  readonly first: number
  /** Between two polls while they fail, at most. */
  readonly slowest: number
  /** Polls of one upstream at a time. */
  readonly concurrency: number
  /** How long clients should wait between two polls. */
  readonly client_every: number
}

export interface TaskRouteConfig {
  /** Its name. */
  readonly kind: string
  readonly action: TaskAction
  /** The parameter of the path that names a task. */
  readonly of?: string
  /** The member of the body that names a task, or, with `select`, several. */
  readonly member?: string
  /** What records call tasks that begin here. */
  readonly label?: string
  /** Whether links that the gateway signed are answered without a key. */
  readonly signed?: true
  /** The member of the body that names where to tell how a task ends. */
  readonly webhook?: string
  /** The header that tells clients how long to wait between two polls. */
  readonly pollHeader?: string
  /** HTTP status of content that is not there yet. */
  readonly notReady?: number
  /** With `run`: the route whose request the body is. */
  readonly runs?: string
  readonly shape: TaskShapeConfig
}

/** The same over all places in which it is written, ready to be read by. */
export interface TaskShape {
  readonly id: readonly Path[]
  readonly state: readonly Path[]
  /** By words in lower case. */
  readonly states: ReadonlyMap<string, TaskState>
  readonly progress: readonly Path[]
  readonly result: ReadonlyMap<string, readonly Path[]>
  readonly error: { readonly code: readonly Path[]; readonly message: readonly Path[] }
  readonly proof: readonly Path[]
  readonly fields: ReadonlyMap<string, readonly Path[]>
  readonly verdict: TaskVerdict | undefined
  readonly poll: PollPace
  /** A task that has not ended after this long has failed. */
  readonly deadline: number
  /** How long after that a success still counts. */
  readonly grace: number
  /** A task that does not change for this long has failed; absent: only the deadline counts. */
  readonly stall: number | undefined
  /** How long results are kept. */
  readonly retention: number
  /** Largest result that is in an answer itself, bytes. */
  readonly maxInline: number
  readonly trustedHosts: ReadonlySet<string>
}

export interface TaskVerdict {
  readonly at: readonly Path[]
  readonly accepted: ReadonlySet<string>
  readonly busy: ReadonlySet<string>
  readonly message: readonly Path[]
}
