import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route, TaskRoute, TaskTarget } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import { admit, type Body, type HeldBody } from '../admit.js'
import type { Call } from '../call.js'
import { formAsJson } from '../form-json.js'
import { resolve } from '../resolve.js'
import { responseHeaders } from '../response-headers.js'
import { errorOfStatus, passAnswer, presentable, retryAfter } from '../upstream-errors.js'
import { buildRequest } from '../upstream-request.js'
import { type Answer, ask, NoAnswer } from './ask.js'
import type { Entry } from './book.js'
import { claim, digestOf, keyOf } from './claim.js'
import { faceOf } from './faces/index.js'
import { parentOf, withId } from './parent.js'
import { type Reading, readAnswer, type Verdict, verdictOf } from './reading.js'
import { isEnded, newTaskId, type Task } from './record.js'
import { heard } from './transition.js'
import { documentOf } from './upstream.js'
import { originOf } from './view.js'

/** How long an upstream may take to confirm a task that it seems to have taken, milliseconds; nobody asks it again. */
const UNCONFIRMED = 300_000
/** What is added to the time in which a submit is answered, before others think that nobody waits for it any more. */
const SLACK = 5000
/** Largest answer to a submit, bytes. */
const MOST = 4 * 1024 * 1024
/** Statuses by which whoever stands before the upstream says that it does not know what the upstream did. */
const UNSURE: ReadonlySet<number> = new Set([502, 504, 520, 524])
/** How long the answer of an upstream that took a task is kept in memory where the store is gone, milliseconds. */
const HOLDING = 30_000
/** Pauses between two attempts to write it. */
const PAUSE = { first: 100, longest: 2000 }
/** Statuses by which an upstream says that it took nothing, and may take it later or elsewhere. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])

/** What came of asking one upstream. */
type Outcome =
  | { readonly type: 'begun'; readonly entry: Entry }
  /** Nothing was begun: the next one may be asked. */
  | {
      readonly type: 'refused'
      readonly error: GatewayError
      readonly answer?: Answer
      /** It says so in the body, whatever its status. */
      readonly verdict?: true
      readonly retry: boolean
    }
  /** It may have begun. */
  | { readonly type: 'open' }
  /** Its client has taken it out meanwhile. */
  | { readonly type: 'gone' }

/**
 * Begins a task. Its record is written before the upstream is called, so that there is no moment in which the upstream
 * works on something that nobody here knows of. An upstream is asked once; the next one is asked only where it is certain
 * that the one before took nothing. Where that is not certain the task stays, and fails by itself.
 */
export async function submit(call: Call, route: Route, task: TaskRoute): Promise<void> {
  const body = await admit(call, route)
  if (call.over) return
  const face = faceOf(task.kind)
  const input = face.input(name => call.member(name), task.label)
  const { tasks } = call.kernel
  const parent = await parentOf(call, task, face)
  const exchanges = parent === undefined ? resolve(call, route) : exchangesOf(call, route, parent)
  const origin = originOf(call)
  const hook = task.webhook === undefined ? undefined : tasks.hooks.hook(call.member(task.webhook), task.webhook)
  const first = exchanges[0] && task.target(exchanges[0].upstream.name)
  if (first === undefined) throw new GatewayError('unavailable', 'The upstream of this endpoint is switched off.')
  const now = Date.now()
  const { deadline, poll } = first.shape
  const draft: Task = {
    id: newTaskId(),
    kind: task.kind,
    owner: call.caller?.name ?? '',
    route: route.id,
    model: call.model,
    phase: 'submitting',
    state: 'queued',
    progress: 0,
    input,
    fields: {},
    artifacts: [],
    created: now,
    deadline: now + deadline,
    moved: now,
    pace: poll.clients,
    faults: 0,
    misses: 0,
    generation: call.generation.number,
    ...(parent === undefined ? {} : { parent: parent.task.id }),
    ...(hook === undefined ? {} : { hook }),
    ...(hook === undefined || origin === undefined ? {} : { origin }),
  }
  const submission = new Submission(call, task, draft, exchanges, body, parent, keyOf(call))
  const work = tasks.hold(submission.run(now + lifetime(first.shape)))
  call.work = PATIENT
  const entry = await work
  if (entry !== undefined && !call.over) await answer(call, entry, task)
}

/** The submit has time limits of its own, and goes on where its client has gone: the upstream is at it already. */
export const PATIENT = { check: () => undefined, cancel: () => undefined, cut: () => false }

/** The answer to whoever began a task. */
async function answer(call: Call, { task }: Entry, { kind, pace }: TaskRoute): Promise<void> {
  const view = await call.kernel.tasks.view({ plan: call.generation.plan, kind, origin: originOf(call) })
  call.answer(200, faceOf(kind).begun(task, view), paceHeader(task, pace))
}

/** Tells clients how long to wait between two polls. */
export function paceHeader(task: Pick<Task, 'pace'>, name: string | undefined): string[] {
  return name === undefined ? [] : [name, String(task.pace)]
}

/** Only who has the one task can make the other of it. */
function exchangesOf(call: Call, route: Route, { task }: Entry): readonly Exchange[] {
  const groups = route.resolve(task.model)?.groups ?? []
  const found = groups.flatMap(group => group.exchanges).filter(one => one.upstream.name === task.target?.upstream)
  if (found.length > 0) return found.slice(0, 1)
  throw new GatewayError('invalid_parameter', `The model \`${task.model}\` cannot do this with a task.`, {
    param: 'model',
    cause: `no exchange for ${call.path}`,
  })
}

// ── the upstream

class Submission {
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
      this.refuse(outcome.type === 'refused' ? outcome : { type: 'refused', error: this.gone(), retry: false })
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
    const aimed = { ...task, target: { upstream: upstream.name, model }, awaited: due + HOLDING }
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
      const patience = { connect: timeouts.connect, answer: answerTime(timeouts), most: MOST }
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
    if (upstreamId === undefined) {
      const said = reading.error?.message
      // It was friendly, and told nothing: it may well be at work.
      if (said === undefined) return { type: 'open' }
      const error = new GatewayError('bad_upstream_response', said, { phase: 'body' })
      return { type: 'refused', error, retry: false }
    }
    // An upstream that names the task that was taken up goes on with that one.
    if (this.#parent !== undefined && reading.id === this.#parent.task.upstreamId) {
      return await this.goOn(entry, this.#parent, reading, target)
    }
    const now = Date.now()
    const begun = ({ awaited: _, ...task }: Task): Task => {
      if (task.phase === 'deleting') return { ...task, upstreamId }
      // Somebody thought that nobody waits for it any more: a success still counts.
      if (isEnded(task)) return { ...task, upstreamId, phase: task.state === 'cancelled' ? 'cancelling' : 'late' }
      const { poll, deadline } = target.shape
      const open: Task = { ...task, upstreamId, phase: 'open', pace: poll.clients, deadline: task.created + deadline }
      // What is ready at once is found ready by the first poll.
      const said = reading.state === 'succeeded' ? { ...reading, state: 'running' as const } : reading
      return heard(open, said, target.shape, now, false)
    }
    return await this.keep(entry, begun, now + Math.max(target.shape.poll.first, retryAfter(headers) ?? 0))
  }

  /** Writes what the upstream took. A store that is gone for a moment does not make it forgotten. */
  private async keep(entry: Entry, begun: (task: Task) => Task, first: number): Promise<Outcome> {
    const { kernel } = this.#call
    const until = Date.now() + HOLDING
    let known: Entry | undefined = entry
    for (let pause = PAUSE.first; ; pause = Math.min(2 * pause, PAUSE.longest)) {
      try {
        // After a fault nobody knows whether it was written.
        known ??= await kernel.tasks.book.look(entry.task.kind, entry.task.owner, entry.task.id)
        if (known === undefined) return { type: 'gone' }
        const saved = await this.keepOnce(known, begun, first)
        if (saved !== undefined)
          return saved.task.phase === 'deleting' ? { type: 'gone' } : { type: 'begun', entry: saved }
        // Somebody gave it up in the meantime, or took it out.
        known = undefined
        continue
      } catch (error) {
        if (!isStoreFault(error)) throw error
        kernel.onStoreFault(error)
        if (Date.now() + pause > until) return { type: 'open' }
        known = undefined
      }
      await sleep(pause)
    }
  }

  private async keepOnce(known: Entry, begun: (task: Task) => Task, first: number): Promise<Entry | undefined> {
    const { tasks } = this.#call.kernel
    const next = begun(known.task)
    if (known.task.upstreamId !== undefined && known.task.upstreamId === next.upstreamId) {
      tasks.wake(known.task.kind, known.record.due ?? null)
      return known
    }
    if (next.phase === 'deleting') return await tasks.save(known, next, Date.now())
    return await tasks.save(known, next, next.phase === 'done' ? null : first)
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

  private refuse({ error, answer, verdict }: Extract<Outcome, { type: 'refused' }>): void {
    const call = this.#call
    if (call.over) return
    const exchange = this.#exchanges.find(one => one.upstream.name === call.attempts.at(-1)?.upstream)
    if (error.code === 'upstream_auth') call.kernel.onRefusedCredential()
    if (
      answer === undefined ||
      exchange === undefined ||
      error.code === 'upstream_auth' ||
      (answer.status < 400 && verdict !== true)
    ) {
      call.fail(dearly(error))
      return
    }
    const headers = responseHeaders(answer.headers, exchange)
    // Clients' libraries repeat requests that failed; this one may have begun something.
    if (answer.status >= 500 && !BUSY.has(answer.status)) headers.push(...NO_RETRY)
    if (!presentable(answer.body, call, exchange)) call.fail(answer.status >= 500 ? dearly(error) : error)
    else passAnswer(call, { status: answer.status, headers, body: answer.body }, error)
  }
}

/** What an upstream says that took nothing, though its status says nothing of it. */
function declined({ code: familyCode, message, busy }: Verdict, answer: Answer, { retry }: Exchange): Outcome {
  const why = message ?? 'The upstream did not take the task.'
  const error = busy
    ? new GatewayError('rate_limited', why, { phase: 'verdict', familyCode, retryAfter: retryAfter(answer.headers) })
    : new GatewayError('upstream_rejected', why, { phase: 'verdict', familyCode, status: answer.status })
  return {
    type: 'refused',
    error,
    answer: { ...answer, status: error.status },
    verdict: true,
    retry: busy && retry.covers(429),
  }
}

const NO_RETRY = ['x-should-retry', 'false']

/** An error after which clients' libraries had better not repeat the request by themselves: it may cost twice. */
function dearly(error: GatewayError): GatewayError {
  if (error.status < 500 || error.code === 'unavailable' || error.code === 'upstream_unavailable') return error
  return new GatewayError(error.code, error.message, { ...error.details, headers: NO_RETRY })
}

/** How long a task may stand in the store before its end is known, milliseconds. */
function lifetime({ deadline, late, keep }: TaskTarget['shape']): number {
  return deadline + late + 2 * keep
}

function isStoreFault(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.details.phase === 'store'
}

function answerTime({ first_byte, total }: Exchange['timeouts']): number {
  return Math.min(first_byte, total)
}
