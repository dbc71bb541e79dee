import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { digestForm } from '../../kernel/form-json.js'
import { isStoreFault } from './confirm-submit.js'
import type { Task } from './record.js'
import { type Claimed, KEY_RETENTION_MS, type TaskEntry } from './repository.js'
import { TASKS } from './tasks.js'
import { withdraw } from './withdrawal.js'

/** Longest `Idempotency-Key`, characters. */
const MAX_KEY_CHARS = 255
/** Pauses between two reads of the first request's task, milliseconds. */
const PAUSE_MS = { first: 20, longest: 500 }
/** How often one request may lose the key to others before it fails. */
const MAX_TRIES = 8

/** What a new task with such a key keeps: its record lasts as long as the key, so that the same request begins no other one. */
export function keptFor(key: string | undefined, now: number): Pick<Task, 'keyed'> {
  return key === undefined ? {} : { keyed: now + KEY_RETENTION_MS }
}

/** The client's `Idempotency-Key`. */
export function keyOf(call: Call): string | undefined {
  const key = call.request.headers['idempotency-key']
  if (key === undefined || key === '') return undefined
  if (typeof key === 'string' && key.length <= MAX_KEY_CHARS) return key
  const message = `The Idempotency-Key has more than ${MAX_KEY_CHARS} characters.`
  throw new GatewayError('bad_request', message, { param: 'idempotency-key' })
}

/**
 * Returns the task of a request with a key, and whether this request has to begin it (`mine`). A task's record is written
 * before its key points to it, so a key that points nowhere belongs to a task that was never begun, and no two requests
 * begin the same one, not even in different processes. A second request waits until the first one's submit is over. Throws
 */
export async function claim(
  call: Call,
  draft: Task,
  key: string,
  body: Body,
  create: () => Promise<TaskEntry>,
): Promise<{ readonly entry: TaskEntry; readonly mine: boolean }> {
  const { repository } = call.kernel.need(TASKS)
  const { owner, id } = draft
  const wanted: Claimed = { id, digest: await digestOf(call, body) }
  const until = Date.now() + call.generation.plan.tasks.wait
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = await repository.claimed(owner, key)
    if (before !== undefined) {
      if (before.digest !== wanted.digest) throw reused()
      const entry = await whenSubmitted(call, draft, before.id, until)
      call.cancellation.throwIfCancelled()
      if (entry !== undefined) return { entry, mine: false }
    }
    const own = await create()
    let mine: boolean
    try {
      mine = await repository.claimKey(owner, key, wanted, before)
    } catch (error) {
      // The store may have let the key lead to this task all the same.
      if (isStoreFault(error)) await withdraw(call.kernel, draft, key, own)
      throw error
    }
    if (mine) return { entry: own, mine }
    await repository.remove(own)
  }
  throw new GatewayError('unavailable', 'Too many requests with this Idempotency-Key at once.', { retryAfter: 1000 })
}

/** A task when its submit is over; undefined where it came to nothing. */
async function whenSubmitted(
  call: Call,
  { kind, owner }: Task,
  id: string,
  until: number,
): Promise<TaskEntry | undefined> {
  const { repository } = call.kernel.need(TASKS)
  for (let wait = PAUSE_MS.first; ; wait = Math.min(2 * wait, PAUSE_MS.longest)) {
    const entry = await repository.findWithDeleted(kind, owner, id)
    const open = entry?.task.phase === 'submitting' && entry.task.ambiguous !== true && entry.task.runs !== true
    if (!open) return entry
    if (Date.now() + wait > until) throw underWay()
    await pause(wait, undefined, { signal: call.cancellation.signal })
  }
}

function reused(): GatewayError {
  return new GatewayError('conflict', 'This Idempotency-Key was used with another request.', {
    param: 'idempotency-key',
    headers: ['x-should-retry', 'false'],
  })
}

function underWay(): GatewayError {
  return new GatewayError('conflict', 'The first request with this Idempotency-Key is still running.', {
    param: 'idempotency-key',
    familyCode: 'idempotency_key_in_use',
    retryAfter: 1000,
  })
}

/** Two requests with the same digest are the same request. */
export async function digestOf(call: Call, body: Body): Promise<string> {
  const hash = createHash('sha256').update(`${call.request.method} ${call.path}\n`)
  if (body.type === 'form') await digestForm(body, hash)
  return (body.type === 'bytes' ? hash.update(body.bytes) : hash).digest('hex')
}
