import { GatewayError } from '../../core/errors.js'
import type { Exchange, TaskTarget } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { HeldBody } from '../body.js'
import { formAsJson } from '../form-json.js'
import { GatedAttempt } from '../gated-attempt.js'
import { NoResponseError, send } from '../http-call.js'
import { bodyWithMembers, jsonWithMembers } from '../members.js'
import { buildRequest } from '../upstream-request.js'
import { accept, gone, type Order, type Outcome, withNotes } from './acceptance.js'
import { claim } from './claim.js'
import { CONFIRM_RETRY_MS, isStoreFault } from './confirm-submit.js'
import { withId } from './parent.js'
import { type Refused, refuse } from './refusal.js'
import type { TaskEntry } from './repository.js'
import { leaseEnd, SubmitLease } from './submit-lease.js'
import { maxAnswerBytes } from './upstream.js'
import { withdraw } from './withdrawal.js'

/** How long an upstream may take to confirm a task that it seems to have taken, milliseconds; nobody asks it again. */
const CONFIRM_TIMEOUT_MS = 300_000
/** What is added to the time in which a submit is answered, before others think that nobody waits for it any more. */
const SLACK_MS = 5000

/** Asks the upstreams of an order in turn, until one has taken it or it is certain that none has. */
export class Submission {
  readonly #order: Order
  /** A form as those get it who take none. */
  #asJson: HeldBody | undefined
  /** The attempt after which the task may go on. */
  #last: GatedAttempt | undefined

  constructor(order: Order) {
    this.#order = order
  }

  /** The task as it stands then; undefined where the client has been told that there is none. */
  async run(expires: number): Promise<TaskEntry | undefined> {
    const { call, exchanges, draft, body, key } = this.#order
    // The pools stay open even where the client goes.
    const generation = call.generation.lease()
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
      refuse(
        call,
        exchanges,
        outcome.type === 'refused' ? outcome : { type: 'refused', error: gone(this.#order), retry: false },
      )
      return undefined
    } finally {
      generation.release()
    }
  }

  /** A store that did not answer may have kept the record all the same. */
  private async create(expires: number): Promise<TaskEntry> {
    const { call, draft } = this.#order
    const { kernel } = call
    try {
      return await kernel.tasks.repository.create(draft, leaseEnd(kernel), expires)
    } catch (error) {
      if (isStoreFault(error)) await withdraw(kernel, draft, undefined)
      throw error
    }
  }

  /** After this long nobody waits for an answer any more. */
  private patience(): number {
    const { exchanges } = this.#order
    const each = exchanges.map(({ timeouts }) => timeouts.queue + timeouts.connect + answerTime(timeouts))
    return each.slice(0, exchanges[0]?.retry.attempts ?? 1).reduce((sum, one) => sum + one, SLACK_MS)
  }

  private async sendInTurn(entry: TaskEntry, changed: (entry: TaskEntry) => void): Promise<Outcome> {
    let known = entry
    let last: Outcome = {
      type: 'refused',
      error: NO_UPSTREAM,
      retry: false,
    }
    for (const [index, exchange] of this.#order.exchanges.entries()) {
      if (index >= exchange.retry.attempts) break
      const target = this.#order.task.target(exchange.upstream.name)
      if (target === undefined) continue
      const gated = new GatedAttempt(this.#order.call, exchange)
      const shut = await entering(gated)
      if (shut !== undefined) {
        last = shut
        if (!shut.retry) return shut
        continue
      }
      let next: TaskEntry | undefined
      try {
        next = await this.aim(known, gated, target)
      } catch (error) {
        gated.end('skipped')
        if (!isStoreFault(error)) throw error
        return { type: 'refused', error, retry: false }
      }
      if (next === undefined) {
        gated.end('skipped')
        return { type: 'open' }
      }
      known = next
      changed(known)
      last = await this.sendTo(known, gated, target, entry => {
        known = entry
        changed(entry)
      })
      if (last.type !== 'refused' || !last.retry) return last
    }
    return last
  }

  /** Who is asked stands in the record before it is asked, and the record outlives whatever that one may do. */
  private async aim(entry: TaskEntry, gated: GatedAttempt, { shape }: TaskTarget): Promise<TaskEntry | undefined> {
    const { kernel } = this.#order.call
    const { upstream, model } = gated.exchange
    const { name, credential } = upstream
    const target = { upstream: name, model, ...(credential === undefined ? {} : { credential }) }
    const awaited = Date.now() + this.patience() + CONFIRM_RETRY_MS
    const expires = Math.max(entry.record.expires, entry.task.created + lifetime(shape))
    const aimed = await kernel.tasks.repository.update(entry, ({ lapsed: _, ...task }) =>
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
    const { timeouts, retry } = exchange
    const lease = new SubmitLease(call.kernel, entry)
    try {
      const { pool } = call.generation.reach(exchange.upstream)
      const maxBytes = maxAnswerBytes(target.shape)
      const { queue, connect } = timeouts
      const options = { key: call.key, queue, connect, answer: answerTime(timeouts), maxBytes }
      const request = await this.request(exchange)
      gated.isSent = true
      const answer = await send(pool, request, options)
      note(answer.status < 300 ? 'ok' : 'status', answer.status)
      const known = await lease.end()
      changed(known)
      const outcome = await accept(this.#order, known, answer, gated, target)
      if (outcome.type === 'refused') gated.end('status', answer.status, outcome.error)
      else this.unconfirmed(gated, answer.status)
      return outcome
    } catch (error) {
      changed(await lease.end())
      if (!(error instanceof NoResponseError)) throw error
      note(String(error.condition), undefined)
      gated.isSent = error.sent
      if (error.sent) {
        this.unconfirmed(gated, undefined)
        return { type: 'open' }
      }
      gated.end(String(error.condition), undefined, error.error)
      return { type: 'refused', error: error.error, retry: retry.covers(error.condition) }
    } finally {
      gated.end('cancelled', undefined, call.error)
    }
  }

  /** The upstream may be at work: its attempt ends so unless it has ended as one that was accepted. */
  private unconfirmed(gated: GatedAttempt, status: number | undefined): void {
    gated.end('unconfirmed', status, undefined, 0, this.#order.draft.id)
    this.#last = gated
  }

  private async request(exchange: Exchange): Promise<UpstreamRequest> {
    const { call, task, parent } = this.#order
    const { parameter, member } = task
    const id = parent?.task.upstreamId
    if (id !== undefined && parameter !== undefined) call.params = { ...call.params, [parameter]: id }
    const own = bodyWithMembers(call, exchange, this.#order.body)
    const body = id === undefined || member === undefined ? own : withId(own, member, id)
    if (body.type !== 'form' || !exchange.takesJsonAlone) return buildRequest(call, exchange, body)
    this.#asJson ??= await formAsJson(call, body)
    const asJson = call.route === undefined ? this.#asJson : jsonWithMembers(call, call.route, exchange, this.#asJson)
    const { headers, ...request } = buildRequest(call, exchange, asJson)
    const others = headers.filter((_, index) => headers[index - (index % 2)] !== 'content-type')
    return { ...request, headers: [...others, 'content-type', 'application/json'] }
  }

  /**
   * Nobody knows whether the upstream took it. It is not asked again; the task fails unless something turns up. Undefined
   * where its client has taken it out.
   */
  private async leaveOpen(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const { kernel } = this.#order.call
    const { tasks } = kernel
    const due = Math.min(Date.now() + CONFIRM_TIMEOUT_MS, entry.task.deadline)
    try {
      const left = await tasks.repository.update(entry, ({ awaited: _, ...task }) =>
        task.phase === 'submitting' ? { task: withNotes({ ...task, ambiguous: true }, this.#last), due } : undefined,
      )
      tasks.wake(entry.task.kind, due)
      return left?.task.phase === 'deleting' ? undefined : left
    } catch (error) {
      if (!isStoreFault(error)) throw error
      kernel.onStoreFault(error)
      // The record says when somebody looks after it; another request would cost a second time.
      return entry
    }
  }
}

/** Leads an attempt through its gates: what they refuse was not begun. */
async function entering(gated: GatedAttempt): Promise<Refused | undefined> {
  try {
    const shut = await gated.enter()
    if (shut === undefined) return undefined
    return { type: 'refused', error: shut === 'over' ? NO_UPSTREAM : shut, retry: true }
  } catch (error) {
    gated.end('skipped')
    if (!(error instanceof GatewayError)) throw error
    return { type: 'refused', error, retry: false }
  }
}

const NO_UPSTREAM = new GatewayError('unavailable', 'No upstream is left.')

/** How long a task may stand in the store before its end is known, milliseconds. */
export function lifetime({ deadline, grace, retention }: TaskTarget['shape']): number {
  return deadline + grace + 2 * retention
}

function answerTime({ first_byte, total }: Exchange['timeouts']): number {
  return Math.min(first_byte, total)
}
