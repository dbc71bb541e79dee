import { GatewayError } from '../../core/errors.js'
import type { Exchange, TaskRoute, TaskTarget } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { Body, HeldBody } from '../admit.js'
import type { Call } from '../call.js'
import { formAsJson } from '../form-json.js'
import { errorOfStatus, retryAfter } from '../upstream-errors.js'
import { buildRequest } from '../upstream-request.js'
import { type Answer, ask, NoAnswer } from './ask.js'
import type { Entry } from './book.js'
import { claim, digestOf } from './claim.js'
import { faceOf } from './faces/index.js'
import { withId } from './parent.js'
import { type Reading, readAnswer, verdictOf } from './reading.js'
import { isEnded, type Task } from './record.js'
import { BUSY, declined, type Refused, refuse } from './refusal.js'
import { HOLDING, isStoreFault, keepTaken, type Taken } from './taken.js'
import { FAILURES, heard } from './transition.js'
import { documentOf, largestAnswer } from './upstream.js'

/** How long an upstream may take to confirm a task that it seems to have taken, milliseconds; nobody asks it again. */
const UNCONFIRMED = 300_000
/** What is added to the time in which a submit is answered, before others think that nobody waits for it any more. */
const SLACK = 5000
/** Statuses by which whoever stands before the upstream says that it does not know what the upstream did. */
const UNSURE: ReadonlySet<number> = new Set([502, 504, 520, 524])

/** What came of asking one upstream. */
type Outcome = Taken | Refused

/** One request to begin a task: which upstreams are asked in turn, and what becomes of the record by what they say. */
export class Submission {
  readonly #call: Call
  readonly #task: TaskRoute
  readonly #draft: Task
  readonly #exchanges: readonly Exchange[]
  readonly #body: Body
  readonly #parent: Entry | undefined
  readonly #key: string | undefined
  /** A form as those get it who take none. */
  #asJson: HeldBody | undefined

  constructor(
    call: Call,
    task: TaskRoute,
    draft: Task,
    exchanges: readonly Exchange[],
    body: Body,
    parent: Entry | undefined,
    key: string | undefined,
  ) {
    this.#call = call
    this.#task = task
    this.#draft = draft
    this.#exchanges = exchanges
    this.#body = body
    this.#parent = parent
    this.#key = key
  }

  /** The task as it stands then; undefined where the client has been told that there is none. */
  async run(expires: number): Promise<Entry | undefined> {
    const call = this.#call
    // The pools stay open even where the client goes.
    const generation = call.generation.lease()
    try {
      const { book } = call.kernel.tasks
      const key = this.#key
      const create = (): Promise<Entry> => book.create(this.#draft, Date.now() + this.patience(), expires)
      const claimed =
        key === undefined
          ? { entry: await create(), mine: true }
          : await claim(call, this.#draft, key, this.#body, create)
      if (claimed?.mine !== true) return claimed?.entry
      let { entry } = claimed
      const outcome = await this.ask(entry, next => {
        entry = next
      })
      if (outcome.type === 'begun') return outcome.entry
      const left = outcome.type === 'open' ? await this.leaveOpen(entry) : undefined
      if (left !== undefined) return left
      if (outcome.type === 'refused') await this.withdraw(entry)
      refuse(
        call,
        this.#exchanges,
        outcome.type === 'refused' ? outcome : { type: 'refused', error: this.gone(), retry: false },
      )
      return undefined
    } finally {
      generation.release()
    }
  }

  /** After this long nobody waits for an answer any more. */
  private patience(): number {
    const each = this.#exchanges.map(({ timeouts }) => timeouts.connect + answerTime(timeouts))
    return each.slice(0, this.#exchanges[0]?.retry.attempts ?? 1).reduce((sum, one) => sum + one, SLACK)
  }

  private async ask(entry: Entry, changed: (entry: Entry) => void): Promise<Outcome> {
    let known = entry
    let last: Outcome = {
      type: 'refused',
      error: new GatewayError('unavailable', 'No upstream is left.'),
      retry: false,
    }
    for (const [index, exchange] of this.#exchanges.entries()) {
      if (index >= exchange.retry.attempts) break
      const target = this.#task.target(exchange.upstream.name)
      if (target === undefined) continue
      let next: Entry | undefined
      try {
        next = await this.aim(known, exchange, target)
      } catch (error) {
        if (!isStoreFault(error)) throw error
        return { type: 'refused', error, retry: false }
      }
      if (next === undefined) return { type: 'open' }
      known = next
      changed(known)
      last = await this.askOne(known, exchange, target)
      if (last.type !== 'refused' || !last.retry) return last
    }
    return last
  }

  /** Who is asked stands in the record before it is asked, and the record outlives whatever that one may do. */
  private async aim(entry: Entry, { upstream, model }: Exchange, { shape }: TaskTarget): Promise<Entry | undefined> {
    const { task, record } = entry
    const due = Date.now() + this.patience()
    const { name, credential } = upstream
    const to = { upstream: name, model, ...(credential === undefined ? {} : { credential }) }
    const aimed = { ...task, target: to, awaited: due + HOLDING }
    const expires = Math.max(record.expires, task.created + lifetime(shape))
    return await this.#call.kernel.tasks.book.replace(entry, aimed, due, expires)
  }

  private async askOne(entry: Entry, exchange: Exchange, target: TaskTarget): Promise<Outcome> {
    const started = performance.now()
    const note = (phase: string, status: number | undefined): void => {
      const milliseconds = Math.round((performance.now() - started) * 100) / 100
      this.#call.attempts.push({ upstream: exchange.upstream.name, model: exchange.model, phase, status, milliseconds })
    }
    const { timeouts, retry } = exchange
    try {
      const { pool } = this.#call.generation.reach(exchange.upstream)
      const most = largestAnswer(target.shape)
      const patience = { connect: timeouts.connect, answer: answerTime(timeouts), most }
      const request = await this.request(exchange)
      const answer = await ask(pool, request, patience)
      note(answer.status < 300 ? 'ok' : 'status', answer.status)
      return await this.read(entry, answer, exchange, target)
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      note(String(error.condition), undefined)
      if (error.sent) return { type: 'open' }
      return { type: 'refused', error: error.error, retry: retry.covers(error.condition) }
    }
  }

  private async request(exchange: Exchange): Promise<UpstreamRequest> {
    const call = this.#call
    const { parameter, member } = this.#task
    const id = this.#parent?.task.upstreamId
    if (id !== undefined && parameter !== undefined) call.params = { ...call.params, [parameter]: id }
    const body = id === undefined || member === undefined ? this.#body : withId(this.#body, member, id)
    if (body.type !== 'form' || !exchange.takesJsonAlone) return buildRequest(call, exchange, body)
    this.#asJson ??= await formAsJson(body)
    const { headers, ...request } = buildRequest(call, exchange, this.#asJson)
    const others = headers.filter((_, index) => headers[index - (index % 2)] !== 'content-type')
    return { ...request, headers: [...others, 'content-type', 'application/json'] }
  }

  private async read(entry: Entry, answer: Answer, exchange: Exchange, target: TaskTarget): Promise<Outcome> {
    const { status, headers } = answer
    if (UNSURE.has(status)) return { type: 'open' }
    if (status < 200 || status >= 300) {
      const retry = BUSY.has(status) && exchange.retry.covers(status)
      return { type: 'refused', error: errorOfStatus(status, headers), answer, retry }
    }
    const document = documentOf(answer, { response: exchange.response })
    const verdict = verdictOf(document, target.shape)
    if (verdict !== undefined) return declined(verdict, answer, exchange)
    const reading = readAnswer(document, target.shape)
    const upstreamId = reading.id
    const isMade = isWhole(reading, target)
    if (upstreamId === undefined && !isMade) {
      const said = reading.error?.message
      // It was friendly, and told nothing: it may well be at work.
      if (said === undefined) return { type: 'open' }
      const error = new GatewayError('bad_upstream_response', said, { phase: 'body' })
      return { type: 'refused', error, retry: false }
    }
    // An upstream that names the task that was taken up goes on with that one.
    if (this.#parent !== undefined && upstreamId !== undefined && upstreamId === this.#parent.task.upstreamId) {
      return await this.goOn(entry, this.#parent, reading, target)
    }
    const said = await this.said(entry.task, reading, target, isMade)
    const now = Date.now()
    const begun = ({ awaited: _, ...task }: Task): Task => {
      const named: Task = upstreamId === undefined ? task : { ...task, upstreamId }
      if (task.phase === 'deleting') return named
      if (isEnded(task)) {
        // Somebody thought that nobody waits for it any more: a success still counts.
        const late: Task = { ...named, phase: task.state === 'cancelled' ? 'cancelling' : 'late' }
        return isMade && late.phase === 'late' ? heard(late, said, target.shape, now, true) : late
      }
      const { poll, deadline } = target.shape
      const open: Task = { ...named, phase: 'open', pace: poll.clients, deadline: task.created + deadline }
      return heard(open, said, target.shape, now, isMade)
    }
    return await keepTaken(
      this.#call.kernel,
      entry,
      begun,
      now + Math.max(target.shape.poll.first, retryAfter(headers) ?? 0),
    )
  }

  /** What the answer to a submit says, its results kept. */
  private async said(task: Task, reading: Reading, target: TaskTarget, isMade: boolean): Promise<Reading> {
    const { results } = this.#call.kernel.tasks
    if (isMade) {
      const made: Reading = { ...reading, state: 'succeeded' }
      const error = { code: 'not_kept', message: FAILURES.not_kept }
      return (await results.keep(task, made, target.shape)) ?? { ...made, state: 'failed', error, artifacts: [] }
    }
    // What is ready at once is found ready by the first poll.
    const said: Reading = reading.state === 'succeeded' ? { ...reading, state: 'running' } : reading
    return (await results.keep(task, said, target.shape)) ?? said
  }

  /** The older task it is, and the new one never was. What was heard of it before does not hold any more. */
  private async goOn(entry: Entry, parent: Entry, reading: Reading, { shape }: TaskTarget): Promise<Outcome> {
    const { tasks } = this.#call.kernel
    const { hook, origin } = entry.task
    const now = Date.now()
    for (let known: Entry | undefined = parent; known !== undefined; ) {
      const { task } = known
      const told = hook === undefined ? {} : { hook: { ...hook, sequence: task.hook?.sequence ?? 0 } }
      const from = { ...task, ...told, ...(origin === undefined ? {} : { origin }), fields: {}, moved: now }
      const next = heard({ ...from, deadline: now + shape.deadline }, reading, shape, now, false)
      const saved = await tasks.save(known, next, now + shape.poll.first)
      if (saved !== undefined) {
        await this.lead(saved.task.id)
        await tasks.book.remove(entry)
        return { type: 'begun', entry: saved }
      }
      known = await tasks.book.find(task.kind, task.owner, task.id)
    }
    return { type: 'refused', error: this.gone(), retry: false }
  }

  /** The client's own key for the request leads to that task. */
  private async lead(id: string): Promise<void> {
    const { owner } = this.#draft
    const { book } = this.#call.kernel.tasks
    if (this.#key === undefined) return
    const before = { id: this.#draft.id, digest: await digestOf(this.#call, this.#body) }
    await book.claimKey(owner, this.#key, { ...before, id }, before)
  }

  private gone(): GatewayError {
    return faceOf(this.#task.kind).unknown(this.#draft.id)
  }

  /**
   * Nobody knows whether the upstream took it. It is not asked again; the task fails unless something turns up. Undefined
   * where its client has taken it out.
   */
  private async leaveOpen(entry: Entry): Promise<Entry | undefined> {
    const { tasks } = this.#call.kernel
    const due = Math.min(Date.now() + UNCONFIRMED, entry.task.deadline)
    try {
      const left = await tasks.book.update(entry, ({ awaited: _, ...task }) =>
        task.phase === 'submitting' ? { task: { ...task, ambiguous: true }, due } : undefined,
      )
      tasks.wake(entry.task.kind, due)
      return left?.task.phase === 'deleting' ? undefined : left
    } catch (error) {
      if (!isStoreFault(error)) throw error
      this.#call.kernel.onStoreFault(error)
      // The record says when somebody looks after it; another request would cost a second time.
      return entry
    }
  }

  /** Takes out a task that no upstream took. Where the store is gone it fails by itself. */
  private async withdraw(entry: Entry): Promise<void> {
    const { book } = this.#call.kernel.tasks
    const { kind, owner, id } = entry.task
    try {
      const left = (await book.remove(entry)) ? undefined : await book.look(kind, owner, id)
      if (left?.task.phase === 'deleting') await book.remove(left)
      if (this.#key !== undefined) await book.freeKey(owner, this.#key, id)
    } catch (error) {
      if (!isStoreFault(error)) throw error
      this.#call.kernel.onStoreFault(error)
    }
  }
}

/** An upstream that cannot be asked about a task has said all of it when it has taken it: here is what it made. */
function isWhole({ artifacts, inline, error, state }: Reading, { calls }: TaskTarget): boolean {
  const isMade = artifacts.length + inline.length > 0 && error === undefined
  return calls.retrieve === undefined && isMade && (state === undefined || state === 'succeeded')
}

/** How long a task may stand in the store before its end is known, milliseconds. */
export function lifetime({ deadline, late, keep }: TaskTarget['shape']): number {
  return deadline + late + 2 * keep
}

function answerTime({ first_byte, total }: Exchange['timeouts']): number {
  return Math.min(first_byte, total)
}
