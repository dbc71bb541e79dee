import { randomBytes } from 'node:crypto'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import type { TaskState } from '../../core/task.js'
import type { TraceMark } from '../../core/trace.js'
import type { TaskEnd, TaskNotes } from '../../kernel/task-end.js'

/** A result of a task. */
export interface Artifact {
  readonly variant: string
  /** Absent: the artefact is in `kept`, or the upstream's content call fetches it. */
  readonly url?: string
  /** The result was inside the upstream's answer, and is a blob of the store. */
  readonly kept?: Kept
}

/** A result's blob. */
export interface Kept {
  /** A prefix of the bytes' SHA-256, in hex. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
  /** Media type; empty if unknown. */
  readonly type: string
}

/** Where to send notifications. */
export interface Hook {
  readonly url: string
  /** Number of the last notification, from 1. */
  readonly sequence: number
  /** The last notification, until it is in the queue. */
  readonly pending?: { readonly event: string; readonly body: JsonObject; readonly at: number }
}

/** What features keep with a task until its end is reported to them. */
interface Notes {
  /** Id of the submit that the notes belong to. */
  readonly submit: string
  /** By feature's name. */
  readonly values: TaskNotes
}

/**
 * `submitting`: the upstream has not confirmed it; `open`: it is polled; `late`: it failed at its deadline, and a success
 * would still count; `cancelling`, `deleting`: the upstream must still be called; `done`: nothing is left to do.
 */
type Phase = 'submitting' | 'open' | 'late' | 'cancelling' | 'deleting' | 'done'

/** A stored task. Times in milliseconds since the epoch. */
export interface Task {
  readonly id: string
  /** Name of its kind. */
  readonly kind: string
  readonly owner: string
  /** Its route and upstream, by name: their present configuration applies. */
  readonly route: string
  readonly target?: {
    readonly upstream: string
    readonly model: string
    /** Identifies the credential that began it among those of the upstream; absent if it had none. */
    readonly credential?: string
  }
  readonly upstreamId?: string
  /** As named by the client. */
  readonly model: string
  readonly phase: Phase
  readonly state: TaskState
  /** Percent; it never decreases. */
  readonly progress: number
  /** The request's values that records show. */
  readonly input: JsonObject
  /** What the upstream said beside the state. */
  readonly fields: JsonObject
  readonly artifacts: readonly Artifact[]
  readonly error?: { readonly code: string; readonly message: string }
  readonly created: number
  readonly started?: number
  readonly finished?: number
  readonly deadline: number
  /** When the result is deleted. */
  readonly expires?: number
  /** Until when a client's key leads here. */
  readonly keyed?: number
  /** When the task last made progress; times in which the upstream could not be polled are added. */
  readonly moved: number
  /** Time of the last successful poll. */
  readonly heard?: number
  /** The pause between two polls that clients are advised to make, milliseconds. */
  readonly pace: number
  /** Failed polls in a row, and those of them that said that there is no such task. */
  readonly faults: number
  readonly misses: number
  /** Until when the request that began it may still receive the upstream's acceptance. */
  readonly awaited?: number
  /** The lease of its submit ended once, and may still be renewed. */
  readonly lapsed?: true
  /** The gateway itself works on it, by a request of another route: there is no upstream to ask. */
  readonly runs?: true
  /** The upstream may have accepted it without confirming. */
  readonly ambiguous?: true
  /** It had a result that the store had no room for. */
  readonly unkept?: true
  /** It succeeded after its deadline. */
  readonly late?: true
  /** Id of the task that it continues. */
  readonly parent?: string
  readonly hook?: Hook
  /** The state before the last change, which was made where nothing reports it. */
  readonly unreported?: TaskState
  readonly notes?: Notes
  /** Of the request that began it; absent in records of former versions. */
  readonly trace?: TraceMark
  /** The gateway's address as its client reaches it. */
  readonly origin?: string
  /** Number of the generation in which it began. */
  readonly generation: number
}

const TASK_PREFIX = 'task_'

/** 128 random bits: the ids of other callers' tasks cannot be guessed. */
export function newTaskId(): string {
  return TASK_PREFIX + randomBytes(16).toString('hex')
}

const ID = /^task_[0-9a-f]{32}$/

/** Whether an id has the form of a task's id; other ids are not looked up. */
export function isTaskId(id: string): boolean {
  return ID.test(id)
}

export function isEnded({ state }: Task): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

/** The report of a task's end for features. */
export function endOf(task: Task, { submit }: Notes): Omit<TaskEnd, 'kept'> {
  const { id, kind, owner, route, model, target, input, fields, artifacts, created, generation } = task
  return {
    ...{ id, submit, kind, owner, route, model, input, fields, created, generation },
    target: target?.model ?? model,
    upstream: target?.upstream ?? '',
    state: isEnded(task) ? (task.state as TaskEnd['state']) : 'cancelled',
    code: task.error?.code,
    artifacts: artifacts.length,
    finished: task.finished ?? Date.now(),
  }
}

export function encodeTask(task: Task): Buffer {
  return Buffer.from(JSON.stringify(task))
}

/** Undefined if the bytes are not a task. */
export function decodeTask(bytes: Uint8Array): Task | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  const json: Json | undefined = parseJson(text)
  return isObject(json) && typeof json.id === 'string' ? (json as unknown as Task) : undefined
}
