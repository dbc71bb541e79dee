import { GatewayError } from '../../core/errors.js'
import { type AllowedRegions, mayReach } from '../../core/region.js'
import { retryAfter } from '../../core/retry-after.js'
import type { StoredRecord } from '../../core/store.js'
import { NoResponseError, send } from '../../kernel/http-call.js'
import { stored } from '../../kernel/stored.js'
import { GuardedHttp } from '../../net/guarded.js'
import { Blocked } from '../../net/media-url.js'
import { NoAddress } from '../../net/resolve.js'
import { ConcurrencyLimiter } from './concurrency-limiter.js'
import type { TaskHost } from './host.js'
import { decodeNotice, encodeNotice, NOTICES, type Notice } from './notices.js'
import type { Hook, Task } from './record.js'
import { signed } from './signature.js'
import { LeaseWorker } from './worker.js'

/** The result of an attempt. */
interface NoticeOutcome {
  readonly task: string
  readonly notice: string
  readonly attempt: number
  readonly outcome: 'taken' | 'again' | 'given up'
  readonly status?: number
  /** Why the address could not be called. */
  readonly blocked?: string
}

const MAX_CONCURRENT = 32
/** Most concurrent attempts to one host, so that a host that hangs leaves room for the others. */
const MAX_PER_HOST = 8
/** How long an undelivered notification is kept for operators to see, milliseconds. */
const RETENTION_MS = 3 * 24 * 3_600_000
/** Pauses between the attempts, milliseconds; the last one repeats. */
const RETRY_PAUSES_MS = [5, 30, 120, 600, 1800, 7200, 21_600].map(seconds => seconds * 1000)
/** Steps of an attempt, each limited by `webhooks.timeout`: name resolution, connection, answer. */
const TIMEOUTS_PER_ATTEMPT = 3
/** Pause while the configuration has no webhooks, milliseconds. */
const RECHECK_ENABLED_MS = 60_000
/** Longest address, characters. */
const MAX_URL_CHARS = 2048
const GONE = 410
/** Added to an attempt's time limits before another process takes it over, milliseconds. */
const SLACK_MS = 5000

/** Notifies clients of changes of their tasks: signed, over HTTPS, to public addresses, until delivered or given up. */
export class HookQueue {
  readonly #host: TaskHost
  readonly #worker: LeaseWorker
  readonly #limiter = new ConcurrencyLimiter()
  /** Called after each attempt. */
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

  /** The hook of a new task. Throws `invalid_parameter` if webhooks are disabled or the address is not allowed. */
  hook(url: unknown, param: string, regions: AllowedRegions): Hook | undefined {
    if (url === undefined || url === null || url === '') return undefined
    const guard = this.guard()
    if (guard === undefined) throw refused(param, 'webhooks are not enabled here')
    const { region } = this.#host.generation.plan.webhooks ?? {}
    if (!mayReach(regions, region)) throw refused(param, 'webhooks would leave the regions of this key')
    if (typeof url !== 'string' || url.length > MAX_URL_CHARS) throw refused(param, 'it must be an https URL')
    try {
      guard.check(url)
    } catch (cause) {
      throw refused(param, 'it must be an https URL of a public address', cause)
    }
    return { url, sequence: 0 }
  }

  /**
   * Queues the pending notification of a task; repeated calls queue it once. The queue holds one notification per task: a
   * newer one replaces an undelivered one, so that a client never gets an old state after a new one.
   */
  async add(task: Task, { url, sequence, pending }: Hook): Promise<void> {
    if (pending === undefined) return
    const now = Date.now()
    const id = `msg_${task.id}.${sequence}`
    const upstream = task.target?.upstream ?? ''
    const notice: Notice = {
      id,
      task: task.id,
      upstream,
      url,
      sequence,
      body: pending.body,
      attempts: 0,
      ...(task.trace === undefined ? {} : { trace: task.trace }),
    }
    const place = { namespace: NOTICES, owner: task.owner, key: task.id }
    const value = encodeNotice(notice)
    for (;;) {
      const draft = { ...place, created: now, expires: now + RETENTION_MS, due: now, value }
      if ((await stored(this.#host.store.create(draft))) !== undefined) break
      const before = await stored(this.#host.store.get(NOTICES, task.owner, task.id))
      if (before === undefined) continue
      if ((decodeNotice(before)?.sequence ?? 0) >= sequence) return
      // If an attempt is running, its `settle` finds the newer notification.
      const change = { value, expires: now + RETENTION_MS, ...(before.due === undefined ? { due: now } : {}) }
      if ((await stored(this.#host.store.replace(before, change))) !== undefined) break
    }
    this.#worker.at(now)
  }

  /** Records the result of an attempt. If a newer notification has replaced it, that one becomes due now, or at `due`. */
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

  private guard(upstream = ''): GuardedHttp | undefined {
    const { webhooks } = this.#host.generation.plan
    if (webhooks?.secret === undefined) return undefined
    const { allow, ports, timeout: timeoutMs } = webhooks
    const { generation: current, ready } = this.#host
    const generation = ready.find(({ plan }) => plan.upstreams.has(upstream)) ?? current
    return new GuardedHttp({ allow, ports, http: false, timeoutMs, egress: generation.egressOf(upstream) })
  }

  /** Makes an attempt if the host's limit allows it; otherwise postpones it. */
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
    const facts = { task: notice.task, notice: notice.id, attempt, ...(status === undefined ? {} : { status }) }
    if (status !== undefined && status >= 200 && status < 300) {
      await this.settle(record, notice, undefined)
      this.onAttempt({ ...facts, outcome: 'taken' })
      return
    }
    const maxAttempts = this.#host.generation.plan.webhooks?.attempts
    const over = (maxAttempts !== undefined && attempt >= maxAttempts) || status === GONE || blocked !== undefined
    const pause = Math.max(RETRY_PAUSES_MS[Math.min(attempt, RETRY_PAUSES_MS.length) - 1] ?? 0, wait ?? 0)
    const due = over ? null : Date.now() + pause
    await this.settle(record, { ...notice, attempts: attempt }, due)
    this.onAttempt({ ...facts, outcome: over ? 'given up' : 'again', ...(blocked === undefined ? {} : { blocked }) })
  }

  /** Webhooks are disabled: check again later, until the notification expires. */
  private async putOff(record: StoredRecord, notice: Notice): Promise<void> {
    const due = Date.now() + RECHECK_ENABLED_MS
    await stored(this.#host.store.replace(record, { value: record.value, due }))
    this.#worker.at(due)
    const blocked = 'webhooks are not enabled'
    this.onAttempt({ task: notice.task, notice: notice.id, attempt: notice.attempts, outcome: 'again', blocked })
  }

  /** With the place of the task in its trace, if that is known. */
  private async attempt(notice: Notice): Promise<Attempted> {
    const { task, trace, url } = notice
    if (trace === undefined) return this.post(notice, [])
    const { origin } = new URL(url)
    const watched = this.#host.watchCall({ name: 'webhook', task, trace, method: 'POST', origin })
    let attempted: Attempted = {}
    try {
      attempted = await this.post(notice, ['traceparent', watched.traceparent])
    } finally {
      watched.ended(attempted.status)
    }
    return attempted
  }

  private async post({ id, upstream, url, sequence, body }: Notice, more: readonly string[]): Promise<Attempted> {
    const { webhooks } = this.#host.generation.plan
    const guard = this.guard(upstream)
    if (webhooks?.secret === undefined || guard === undefined) return {}
    const text = JSON.stringify(body)
    const signature = signed(id, Math.floor(Date.now() / 1000), text, webhooks.secret)
    try {
      const connection = await guard.open(url, AbortSignal.timeout(webhooks.timeout))
      const headers = [...HEADERS, 'webhook-sequence', String(sequence), ...signature, ...more]
      const request = { method: 'POST', path: connection.target, headers, body: Buffer.from(text) }
      try {
        const { timeout } = webhooks
        const options = { key: '', queue: 0, connect: timeout, answer: timeout, maxBytes: 'head' } as const
        const answer = await send(connection, request, options)
        return { status: answer.status, wait: retryAfter(answer.headers) }
      } finally {
        connection.finished()
      }
    } catch (error) {
      // The name may resolve later.
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
