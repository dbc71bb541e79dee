import { randomBytes } from 'node:crypto'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import type { TaskState } from '../../core/task.js'
import type { TaskEnd, TaskNotes } from '../task-end.js'

/** Something that a task made. */
export interface Artifact {
  readonly variant: string
  /** Absent, with `kept`: the upstream's content call fetches it. */
  readonly url?: string
  /** It stood in the upstream's answer itself, and is among the store's blobs. */
  readonly kept?: Kept
}

/** What is known of such a blob. */
export interface Kept {
  /** Of the bytes: a part of their SHA-256, in hex. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
  /** Media type; empty where nobody says it. */
  readonly type: string
}

/** Whom to tell, and how often there was something to be told. */
export interface Hook {
  readonly url: string
  /** Number of the last notification. */
  readonly sequence: number
  /** The last one, until it stands in the queue. */
  readonly pending?: { readonly event: string; readonly body: JsonObject; readonly at: number }
}

/** What features keep with a task until they have heard of its end. */
interface Notes {
  /** Id of the submit that they belong to. */
  readonly submit: string
  /** By feature. */
  readonly values: TaskNotes
}

/**
 * `submitting`: the upstream has not confirmed it; `open`: it is being followed; `late`: it has failed by its deadline, and
 * a success would still count; `cancelling`, `deleting`: the upstream is still to be told; `done`: nothing happens any more.
 */
type Phase = 'submitting' | 'open' | 'late' | 'cancelling' | 'deleting' | 'done'

/** A task as the store has it. Times in milliseconds since the epoch. */
export interface Task {
  readonly id: string
  /** Name of what it makes. */
  readonly kind: string
  readonly owner: string
  /** The route that it began on, and the upstream that has it: it is followed by what these say now. */
  readonly route: string
  readonly target?: {
    readonly upstream: string
    readonly model: string
    /** Tells the credential that began it from others of that upstream; absent where there was none. */
    readonly credential?: string
  }
  readonly upstreamId?: string
  /** As the client named it. */
  readonly model: string
  readonly phase: Phase
  readonly state: TaskState
  /** 0 to 100, and never less than before. */
  readonly progress: number
  /** What its client asked for, as far as records show it. */
  readonly input: JsonObject
  /** What the upstream said beyond its state. */
  readonly fields: JsonObject
  readonly artifacts: readonly Artifact[]
  readonly error?: { readonly code: string; readonly message: string }
  readonly created: number
  readonly started?: number
  readonly finished?: number
  readonly deadline: number
  /** When its result is gone. */
  readonly expires?: number
  /** When something new was heard of it; time in which nothing could be heard is added. */
  readonly moved: number
  /** When its upstream last told how it stands. */
  readonly heard?: number
  /** What clients are told to wait between two polls, milliseconds. */
  readonly pace: number
  /** Polls in a row that failed, and those of them by which the upstream said that there is no such task. */
  readonly faults: number
  readonly misses: number
  /** Until when whoever began it may still hear that the upstream took it. */
  readonly awaited?: number
  /** The lease of its submit was over once, and may still be renewed. */
  readonly lapsed?: true
  /** Whether the upstream may have it without having said so. */
  readonly ambiguous?: true
  /** Its result was there, and the store had no room for it. */
  readonly unkept?: true
  /** It ended well after its deadline. */
  readonly late?: true
  /** The task that it was made of. */
  readonly parent?: string
  readonly hook?: Hook
  readonly notes?: Notes
  /** Where its client reaches the gateway. */
  readonly origin?: string
  /** Of the configuration under which it began. */
  readonly generation: number
}

const TASK_PREFIX = 'task_'

/** 128 random bits: nobody guesses the id of another caller's task. */
export function newTaskId(): string {
  return TASK_PREFIX + randomBytes(16).toString('hex')
}

const ID = /^task_[0-9a-f]{32}$/

/** Whether an id can be one of ours: nothing else is looked for. */
export function isTaskId(id: string): boolean {
  return ID.test(id)
}

export function isEnded({ state }: Task): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

/** What features hear of a task's end. */
export function endOf(task: Task, { submit }: Notes): Omit<TaskEnd, 'kept'> {
  const { id, kind, owner, route, model, target, input, artifacts, created, generation } = task
  return {
    ...{ id, submit, kind, owner, route, model, input, created, generation },
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

/** Undefined where the bytes are none of ours. */
export function decodeTask(bytes: Uint8Array): Task | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  const json: Json | undefined = parseJson(text)
  return isObject(json) && typeof json.id === 'string' ? (json as unknown as Task) : undefined
}
