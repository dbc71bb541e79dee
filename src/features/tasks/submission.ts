import { GatewayError } from '../../core/errors.js'
import type { Exchange, TaskTarget } from '../../core/plan.js'
import { unexpected } from '../../core/refusals.js'
import type { FormsAs } from '../../core/shape.js'
import type { HeldBody } from '../../kernel/body.js'
import { changedBody } from '../../kernel/changes.js'
import { formAsJson } from '../../kernel/form-json.js'
import { GatedAttempt } from '../../kernel/gated-attempt.js'
import { NoResponseError, send } from '../../kernel/http-call.js'
import { pause } from '../../kernel/pause.js'
import { sentAmounts } from '../../kernel/sent-amounts.js'
import { buildRequest } from '../../kernel/upstream-request.js'
import { Walk } from '../../kernel/walk.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { Values } from '../../wire/demand-values.js'
import { jsonWithMembers } from '../members/index.js'
import { accept, gone, type Order, type Outcome, withNotes } from './acceptance.js'
import { claim } from './claim.js'
import { CONFIRM_RETRY_MS, isStoreFault } from './confirm-submit.js'
import { withId } from './parent.js'
import type { Task } from './record.js'
import { type Refused, refuse } from './refusal.js'
import type { TaskEntry } from './repository.js'
import { leaseEnd, SubmitLease } from './submit-lease.js'
import { TASKS } from './tasks.js'
import { maxAnswerBytes } from './upstream.js'
import { withdraw } from './withdrawal.js'

/** How long an upstream may take to confirm an ambiguous submit, milliseconds. The submit is not repeated. */
const CONFIRM_TIMEOUT_MS = 300_000
/** Added to the longest duration of a submit before it counts as abandoned, milliseconds. */
const SLACK_MS = 5000

/** Calls the upstreams of an order in turn, until one has accepted it or it is certain that none has. */
export class Submission {
  readonly #order: Order
  /** The form as JSON, for upstreams that do not take forms. */
  readonly #asJson = new Map<FormsAs, HeldBody>()
  /** The last attempt that may have begun the task. */
  #last: GatedAttempt | undefined

  constructor(order: Order) {
    this.#order = order
  }

  /** The task after its submit; undefined if an error was sent to the client. */
  async run(expires: number): Promise<TaskEntry | undefined> {
    const { call, exchanges, draft, body, key } = this.#order
    // Keep the pools open, and the form, even if the client goes away.
    const generation = call.generation.lease()
    const spool = body.type === 'form' ? body.spool : undefined
    spool?.retain()
    try {
      const create = (): Promise<TaskEntry> => this.create(expires)
      const claimed =
        key === undefined ? { entry: await create(), mine: true } : await claim(call, draft, key, body, create)
      if (!claimed.mine) return claimed.entry
      let { entry } = claimed
      const outcome = await this.sendInTurn(entry, next => {
        entry = next
      })
      if (outcome.type === 'begun') return outcome.entry
      const left = outcome.type === 'open' ? await this.leaveOpen(entry) : undefined
      if (left !== undefined) return left
      if (outcome.type === 'refused') await withdraw(call.kernel, entry.task, key, entry)
      refuse(call, exchanges, outcome.type === 'refused' ? outcome : { type: 'refused', error: gone(this.#order) })
      return undefined
    } finally {
      generation.release()
      spool?.letGo()
    }
  }

  /** A store that did not answer may have created the record nevertheless, so a failed creation is withdrawn. */
  private async create(expires: number): Promise<TaskEntry> {
    const { call, draft } = this.#order
    const { kernel } = call
    try {
      return await kernel.need(TASKS).repository.create(draft, leaseEnd(kernel), expires)
    } catch (error) {
      if (isStoreFault(error)) await withdraw(kernel, draft, undefined)
      throw error
    }
  }

  /** The longest that the whole submit can take, milliseconds. */
  private patience(): number {
    const { exchanges } = this.#order
    const longest = exchanges.map(
      ({ timeouts, retry }) => timeouts.queue + timeouts.connect + answerTime(timeouts) + retry.max_wait,
    )
    return SLACK_MS + (exchanges[0]?.retry.attempts ?? 1) * Math.max(0, ...longest)
  }

  private async sendInTurn(entry: TaskEntry, changed: (entry: TaskEntry) => void): Promise<Outcome> {
    let known = entry
    let last: Outcome = { type: 'refused', error: NO_UPSTREAM }
    const { call, exchanges, task } = this.#order
    const walk = new Walk(call, exchanges)
    const note = (entry: TaskEntry): void => {
      known = entry
      changed(entry)
    }
    for (let exchange = walk.take(); exchange !== undefined; exchange = walk.take()) {
      const target = task.target(exchange.upstream.name, exchange.upstream.credential)
      if (target === undefined) {
        walk.skip()
        continue
      }
      const gated = new GatedAttempt(call, exchange)
      // What it costs is kept with the task, so it is known before the first gate.
      if (exchange.adds?.paths !== undefined) {
        try {
          gated.sentValues = await this.sentValues(gated)
        } catch (error) {
          return unsent(gated, error)
        }
      }
      const shut = await this.held(known, note, entering(gated))
      if (shut !== undefined) {
        if (shut.type === 'over') return shut.refused
        last = shut.refused
        walk.skip()
        continue
      }
      let next: TaskEntry | undefined
      try {
        next = await this.aim(known, gated, target)
      } catch (error) {
        gated.end('skipped')
        if (!isStoreFault(error)) throw error
        return { type: 'refused', error }
      }
      if (next === undefined) {
        gated.end('skipped')
        return { type: 'open' }
      }
      note(next)
      last = await this.sendTo(next, gated, target, note)
      if (last.type !== 'refused' || last.condition === undefined) return last
      const { left, waitMs } = walk.failed(gated, { error: last.error, condition: last.condition })
      if (left.length === 0 || waitMs === 0) continue
      const continues = new Promise<boolean>(resolve => pause(call, waitMs, resolve))
      if (!(await this.held(known, note, continues))) return last
    }
    return last
  }

  /** Waits: the record stays this process's, however long that takes. */
  private async held<T>(entry: TaskEntry, changed: (entry: TaskEntry) => void, work: Promise<T>): Promise<T> {
    const lease = new SubmitLease(this.#order.call.kernel.need(TASKS), entry)
    try {
      return await work
    } finally {
      changed(await lease.end())
    }
  }

  /** Writes the upstream's name into the record before the call, and extends the record's life to the task's longest one. */
  private async aim(entry: TaskEntry, gated: GatedAttempt, { shape }: TaskTarget): Promise<TaskEntry | undefined> {
    const { kernel } = this.#order.call
    const { upstream, model } = gated.exchange
    const { name, credential } = upstream
    const target = { upstream: name, model, ...(credential === undefined ? {} : { credential }) }
    const awaited = Date.now() + this.patience() + CONFIRM_RETRY_MS
    const expires = Math.max(entry.record.expires, lastsUntil(entry.task, shape))
    const aimed = await kernel
      .need(TASKS)
      .repository.update(entry, ({ lapsed: _, ...task }) =>
        task.phase === 'submitting'
          ? { task: withNotes({ ...task, target, awaited }, gated), due: leaseEnd(kernel), expires }
          : undefined,
      )
    return aimed?.task.phase === 'submitting' ? aimed : undefined
  }

  private async sendTo(
    entry: TaskEntry,
    gated: GatedAttempt,
    target: TaskTarget,
    changed: (entry: TaskEntry) => void,
  ): Promise<Outcome> {
    const { call } = this.#order
    const { exchange } = gated
    const started = performance.now()
    const note = (phase: string, status: number | undefined): void => {
      const milliseconds = Math.round((performance.now() - started) * 100) / 100
      call.attempts.push({ upstream: exchange.upstream.name, model: exchange.model, phase, status, milliseconds })
    }
    const { timeouts } = exchange
    const lease = new SubmitLease(call.kernel.need(TASKS), entry)
    try {
      const { pool } = call.generation.reach(exchange.upstream)
      const maxBytes = maxAnswerBytes(target.shape)
      const { queue, connect } = timeouts
      const options = { key: call.key, queue, connect, answer: answerTime(timeouts), maxBytes }
      const request = await this.request(gated)
      gated.isSent = true
      const answer = await send(pool, gated.watched(request), options)
      note(answer.status < 300 ? 'ok' : 'status', answer.status)
      const known = await lease.end()
      changed(known)
      const outcome = await accept(this.#order, known, answer, gated, target)
      if (outcome.type === 'refused') gated.end('status', answer.status, outcome.error)
      else this.unconfirmed(gated, answer.status)
      return outcome
    } catch (error) {
      changed(await lease.end())
      if (!gated.isSent) return unsent(gated, error)
      if (!(error instanceof NoResponseError)) throw error
      note(String(error.condition), undefined)
      gated.isSent = error.sent
      if (error.sent) {
        this.unconfirmed(gated, undefined)
        return { type: 'open' }
      }
      gated.end(String(error.condition), undefined, error.error)
      return { type: 'refused', error: error.error, condition: error.condition }
    } finally {
      gated.end('cancelled', undefined, call.error)
    }
  }

  /** The upstream may have begun the task: ends the attempt as `unconfirmed`, unless it has ended already. */
  private unconfirmed(gated: GatedAttempt, status: number | undefined): void {
    gated.end('unconfirmed', status, undefined, 0, this.#order.draft.id)
    this.#last = gated
  }

  private async sentValues(gated: GatedAttempt): Promise<Values | undefined> {
    const { body, document } = await this.request(gated)
    return sentAmounts(this.#order.call, gated.exchange, this.#order.body, document ?? body)
  }

  private async request(gated: GatedAttempt): Promise<UpstreamRequest> {
    const { exchange } = gated
    const { call, task, parent } = this.#order
    const { parameter, member } = task
    const id = parent?.task.upstreamId
    if (id !== undefined && parameter !== undefined) call.params = { ...call.params, [parameter]: id }
    const own = changedBody(call, exchange, this.#order.body)
    const body = id === undefined || member === undefined ? own : withId(own, member, id)
    const { formsAs } = exchange
    if (body.type !== 'form' || formsAs === undefined) return buildRequest(gated, body)
    const asJson = this.#asJson.get(formsAs) ?? (await formAsJson(call, body, formsAs))
    this.#asJson.set(formsAs, asJson)
    const sent = call.route === undefined ? asJson : jsonWithMembers(call, call.route, exchange, asJson)
    return buildRequest(gated, sent)
  }

  /**
   * It is unknown whether the upstream accepted the task. The submit is not repeated, and the task fails unless the upstream
   * confirms it in time. Undefined if its client has deleted it.
   */
  private async leaveOpen(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const { kernel } = this.#order.call
    const tasks = kernel.need(TASKS)
    const last = this.#last
    const now = Date.now()
    try {
      const left = await tasks.repository.update(entry, ({ awaited: _, ...task }) => {
        const due = Math.min(now + CONFIRM_TIMEOUT_MS, task.deadline)
        if (task.phase === 'submitting') return { task: withNotes({ ...task, ambiguous: true }, last), due }
        // It was given up meanwhile: what the attempt holds since then is settled, too.
        const isGivenUp = task.state !== 'succeeded' && (task.phase === 'done' || task.phase === 'cancelling')
        return isGivenUp && last !== undefined ? { task: withNotes(task, last), due: now + HELD_MS } : undefined
      })
      tasks.wake(entry.task.kind, left?.record.due ?? null)
      return left?.task.phase === 'deleting' ? undefined : left
    } catch (error) {
      if (!isStoreFault(error)) throw error
      kernel.onStoreFault(error)
      // The record's due time remains, so a worker will settle it; a repeated submit could be charged twice.
      return entry
    }
  }
}

/** The request could not be made from the client's, so no upstream has got it. */
function unsent(gated: GatedAttempt, cause: unknown): Refused {
  const error = cause instanceof GatewayError ? cause : unexpected(cause)
  gated.end('skipped', undefined, error)
  return { type: 'refused', error }
}

/** Passes an attempt's gates. `shut`: this upstream may not begin the task; `over`: no other one may either. */
async function entering(gated: GatedAttempt): Promise<{ type: 'shut' | 'over'; refused: Refused } | undefined> {
  try {
    const shut = await gated.enter()
    if (shut === undefined) return undefined
    return { type: 'shut', refused: { type: 'refused', error: shut === 'over' ? NO_UPSTREAM : shut } }
  } catch (error) {
    gated.end('skipped')
    if (!(error instanceof GatewayError)) throw error
    return { type: 'over', refused: { type: 'refused', error } }
  }
}

/** What an attempt holds is in the store by then. */
const HELD_MS = 2000

const NO_UPSTREAM = new GatewayError('unavailable', 'No upstream is left.')

/** Until when the record of a task is kept that ends as late as it may, milliseconds since the epoch. */
export function lastsUntil({ created, keyed = 0 }: Task, { deadline, grace, retention }: TaskTarget['shape']): number {
  return Math.max(created + deadline + grace + 2 * retention, keyed)
}

function answerTime({ first_byte, total }: Exchange['timeouts']): number {
  return Math.min(first_byte, total)
}
