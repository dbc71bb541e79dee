import { GatewayError } from '../../core/errors.js'
import type { StoredRecord } from '../../core/store.js'
import { GuardedHttp } from '../../net/guarded.js'
import { Blocked } from '../../net/media-url.js'
import { NoAddress } from '../../net/resolve.js'
import { NoResponseError, send } from '../http-call.js'
import { stored } from '../responses/faults.js'
import { retryAfter } from '../upstream-errors.js'
import { ConcurrencyLimiter } from './concurrency-limiter.js'
import type { TaskHost } from './host.js'
import { decodeNotice, encodeNotice, NOTICES, type Notice } from './notices.js'
import type { Hook, Task } from './record.js'
import { signed } from './signature.js'
import { LeaseWorker } from './worker.js'

/** What became of an attempt. */
interface NoticeOutcome {
  readonly task: string
  readonly notice: string
  readonly attempt: number
  readonly outcome: 'taken' | 'again' | 'given up'
  readonly status?: number
  /** Why the address was not called. */
  readonly blocked?: string
}

const MAX_CONCURRENT = 32
/** How many of them may be told to one host: one that hangs leaves room for the others. */
const MAX_PER_HOST = 8
/** How long one that nobody took is kept for whoever looks after it, milliseconds. */
const RETENTION_MS = 3 * 24 * 3_600_000
/** Pauses between the attempts, milliseconds; the last one repeats. */
const RETRY_PAUSES_MS = [5, 30, 120, 600, 1800, 7200, 21_600].map(seconds => seconds * 1000)
/** What an attempt waits for, each as long as `webhooks.timeout`: the address, the connection, the answer. */
const TIMEOUTS_PER_ATTEMPT = 3
/** Pause where the configuration has no webhooks any more, milliseconds. */
const RECHECK_ENABLED_MS = 60_000
/** Longest address, characters. */
const MAX_URL_CHARS = 2048
/** Most that is read of an answer that nobody needs, bytes. */
const MAX_ANSWER_BYTES = 64 * 1024
const GONE = 410
/** What is added to the time that an attempt takes, before others think that its process is gone, milliseconds. */
const SLACK_MS = 5000

/** Tells clients how their tasks end: signed, over HTTPS, to public addresses, until it is taken or has been tried often enough. */
export class HookQueue {
  readonly #host: TaskHost
  readonly #worker: LeaseWorker
  readonly #limiter = new ConcurrencyLimiter()
  /** Told of each attempt. */
  onAttempt: (outcome: NoticeOutcome) => void = () => undefined

  constructor(host: TaskHost) {
    this.#host = host
    this.#worker = new LeaseWorker({
      store: host.store,
      namespace: NOTICES,
      lease: () => SLACK_MS + TIMEOUTS_PER_ATTEMPT * (host.generation.plan.webhooks?.timeout ?? 0),
      maxConcurrent: MAX_CONCURRENT,
      run: record => this.inTurn(record),
      onFault: error => host.onStoreFault(error),
    })
  }

  start(): void {
    this.#worker.start()
  }

  checkNow(): void {
    this.#worker.at(Date.now())
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
  }

  /** The hook of a new task. Throws `invalid_parameter` where nobody may be called there, or at all. */
  hook(url: unknown, param: string): Hook | undefined {
    if (url === undefined || url === null || url === '') return undefined
    const guard = this.guard()
    if (guard === undefined) throw refused(param, 'webhooks are not enabled here')
    if (typeof url !== 'string' || url.length > MAX_URL_CHARS) throw refused(param, 'it must be an https URL')
    try {
      guard.check(url)
    } catch (cause) {
      throw refused(param, 'it must be an https URL of a public address', cause)
    }
    return { url, sequence: 0 }
  }

  /**
   * Puts the notification that waits in a task into the queue; once only, however often it is tried. A task has one place
   * there: what is newer takes the place of what has not been taken, so that nobody is told old things after new ones.
   */
  async add(task: Task, { url, sequence, pending }: Hook): Promise<void> {
    if (pending === undefined) return
    const now = Date.now()
    const id = `msg_${task.id}.${sequence}`
    const notice: Notice = { id, task: task.id, url, sequence, body: pending.body, attempts: 0 }
    const place = { namespace: NOTICES, owner: task.owner, key: task.id }
    const value = encodeNotice(notice)
    for (;;) {
      const draft = { ...place, created: now, expires: now + RETENTION_MS, due: now, value }
      if ((await stored(this.#host.store.create(draft))) !== undefined) break
      const before = await stored(this.#host.store.get(NOTICES, task.owner, task.id))
      if (before === undefined) continue
      if ((decodeNotice(before)?.sequence ?? 0) >= sequence) return
      // Somebody may be at it: who is, comes back to it.
      const change = { value, expires: now + RETENTION_MS, ...(before.due === undefined ? { due: now } : {}) }
      if ((await stored(this.#host.store.replace(before, change))) !== undefined) break
    }
    this.#worker.at(now)
  }

  /** What became of an attempt is written down, unless something newer stands there: that is due now, or at `due`. */
  private async settle(record: StoredRecord, notice: Notice, due: number | null | undefined): Promise<void> {
    const { store } = this.#host
    const changed =
      due === undefined
        ? await stored(store.delete(record))
        : await stored(store.replace(record, { value: encodeNotice(notice), due }))
    if (changed === false || changed === undefined) {
      const next = due ?? Date.now()
      for (;;) {
        const newer = await stored(store.get(record.namespace, record.owner, record.key))
        if (newer === undefined) return
        if ((await stored(store.replace(newer, { value: newer.value, due: next }))) !== undefined) break
      }
      this.#worker.at(next)
    } else if (typeof due === 'number') this.#worker.at(due)
  }

  private guard(): GuardedHttp | undefined {
    const { webhooks } = this.#host.generation.plan
    if (webhooks?.secret === undefined) return undefined
    const { allow, ports, timeout: timeoutMs } = webhooks
    return new GuardedHttp({ allow, ports, http: false, timeoutMs })
  }

  /** Makes an attempt where its host may be asked now, and else puts it off until it may. */
  private async inTurn(record: StoredRecord): Promise<void> {
    const notice = decodeNotice(record)
    if (notice === undefined) return
    const { host } = new URL(notice.url)
    const later = (next: number): Promise<void> => this.settle(record, notice, next)
    await this.#limiter.run(host, MAX_PER_HOST, () => this.send(record, notice), later)
  }

  private async send(record: StoredRecord, notice: Notice): Promise<void> {
    const attempt = notice.attempts + 1
    if (this.guard() === undefined) {
      await this.putOff(record, notice)
      return
    }
    const { status, wait, blocked } = await this.attempt(notice)
    const told = { task: notice.task, notice: notice.id, attempt, ...(status === undefined ? {} : { status }) }
    if (status !== undefined && status >= 200 && status < 300) {
      await this.settle(record, notice, undefined)
      this.onAttempt({ ...told, outcome: 'taken' })
      return
    }
    const maxAttempts = this.#host.generation.plan.webhooks?.attempts
    const over = (maxAttempts !== undefined && attempt >= maxAttempts) || status === GONE || blocked !== undefined
    const pause = Math.max(RETRY_PAUSES_MS[Math.min(attempt, RETRY_PAUSES_MS.length) - 1] ?? 0, wait ?? 0)
    const due = over ? null : Date.now() + pause
    await this.settle(record, { ...notice, attempts: attempt }, due)
    this.onAttempt({ ...told, outcome: over ? 'given up' : 'again', ...(blocked === undefined ? {} : { blocked }) })
  }

  /** Nobody may be told now: it waits for a configuration in which somebody may, as long as it is kept. */
  private async putOff(record: StoredRecord, notice: Notice): Promise<void> {
    const due = Date.now() + RECHECK_ENABLED_MS
    await stored(this.#host.store.replace(record, { value: record.value, due }))
    this.#worker.at(due)
    const blocked = 'webhooks are not enabled'
    this.onAttempt({ task: notice.task, notice: notice.id, attempt: notice.attempts, outcome: 'again', blocked })
  }

  private async attempt({ id, url, sequence, body }: Notice): Promise<Attempted> {
    const { webhooks } = this.#host.generation.plan
    const guard = this.guard()
    if (webhooks?.secret === undefined || guard === undefined) return {}
    const text = JSON.stringify(body)
    const signature = signed(id, Math.floor(Date.now() / 1000), text, webhooks.secret)
    try {
      const connection = await guard.open(url, AbortSignal.timeout(webhooks.timeout))
      const headers = [...HEADERS, 'webhook-sequence', String(sequence), ...signature]
      const request = { method: 'POST', path: connection.target, headers, body: Buffer.from(text) }
      try {
        const options = {
          key: '',
          queue: 0,
          connect: webhooks.timeout,
          answer: webhooks.timeout,
          maxBytes: MAX_ANSWER_BYTES,
        }
        const answer = await send(connection, request, options)
        return { status: answer.status, wait: retryAfter(answer.headers) }
      } finally {
        connection.finished()
      }
    } catch (error) {
      // A name that has no address now may have one again.
      if (error instanceof NoAddress) return {}
      if (error instanceof Blocked) return { blocked: error.message }
      if (error instanceof NoResponseError || isTimeout(error)) return {}
      throw error
    }
  }
}

interface Attempted {
  readonly status?: number
  readonly wait?: number | undefined
  readonly blocked?: string
}

const HEADERS = ['content-type', 'application/json', 'user-agent', 'model-gateway', 'accept-encoding', 'identity']

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
}

function refused(param: string, why: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' cannot be used: ${why}.`, { param, cause })
}
