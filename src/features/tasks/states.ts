import type { TaskState } from '../../core/task.js'

/** Common words of upstreams for states. Unknown words mean that the task continues. */
const WORDS: Readonly<Record<TaskState, readonly string[]>> = {
  queued: [
    ...['queued', 'queueing', 'in_queue', 'pending', 'submitted', 'not_start', 'not_started', 'created', 'accepted'],
    ...['preparing', 'scheduled', 'waiting', 'starting', 'initializing'],
  ],
  running: [
    ...['running', 'processing', 'in_progress', 'inprogress', 'progress', 'generating', 'started', 'working', 'active'],
    ...['executing', 'rendering', 'modal', 'throttled'],
  ],
  succeeded: [
    ...['succeeded', 'succeed', 'success', 'successful', 'completed', 'complete', 'finished', 'done', 'ready', 'ok'],
  ],
  failed: [
    ...['failed', 'failure', 'fail', 'error', 'errored', 'expired', 'timeout', 'timed_out', 'rejected', 'blocked'],
    ...['moderated', 'moderation_failed', 'not_found', 'lost'],
  ],
  cancelled: ['cancelled', 'canceled', 'cancel', 'aborted', 'revoked'],
}

const STATES: ReadonlyMap<string, TaskState> = new Map(
  (Object.entries(WORDS) as [TaskState, readonly string[]][]).flatMap(([state, words]) =>
    words.map(word => [word, state] as const),
  ),
)

/**
 * The state that an upstream's word means: declared words first, then the common ones, in any case and with dashes or spaces
 * for underscores. Undefined for unknown words.
 */
export function stateOf(word: unknown, declared: ReadonlyMap<string, TaskState>): TaskState | undefined {
  const text = textOf(word)
  return text === undefined ? undefined : (declared.get(text) ?? STATES.get(text.replaceAll(/[\s-]+/g, '_')))
}

/** Whether a word for a failure says that the task expired; clients get a different error code for that. */
export function isExpired(word: unknown): boolean {
  return textOf(word) === 'expired'
}

function textOf(word: unknown): string | undefined {
  if (typeof word !== 'string' && typeof word !== 'number' && typeof word !== 'boolean') return undefined
  return String(word).trim().toLowerCase()
}
