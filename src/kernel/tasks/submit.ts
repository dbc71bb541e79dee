import { createHash } from 'node:crypto'
import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route, TaskRoute, TaskTarget } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import { admit, type Body, type HeldBody } from '../admit.js'
import type { Call } from '../call.js'
import { digestForm, formAsJson } from '../form-json.js'
import { resolve } from '../resolve.js'
import { responseHeaders } from '../response-headers.js'
import { errorOfStatus, passAnswer, presentable, retryAfter } from '../upstream-errors.js'
import { buildRequest } from '../upstream-request.js'
import { type Answer, ask, NoAnswer } from './ask.js'
import type { Claimed, Entry } from './book.js'
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
/** Longest key by which a client marks a request, characters. */
const LONGEST_KEY = 255
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
  const { deadline, late, keep, poll } = first.shape
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
  const key = keyOf(call)
  const known = key === undefined ? undefined : await claim(call, draft, key, body)
  if (known !== undefined) return await answer(call, known, task)
  const submission = new Submission(call, task, draft, exchanges, body, parent, key)
  const work = tasks.hold(submission.run(now + deadline + late + 2 * keep))
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

// ── the client's own key for a request

function keyOf(call: Call): string | undefined {
  const key = call.request.headers['idempotency-key']
  if (key === undefined || key === '') return undefined
  if (typeof key === 'string' && key.length <= LONGEST_KEY) return key
  const message = `The Idempotency-Key has more than ${LONGEST_KEY} characters.`
  throw new GatewayError('bad_request', message, { param: 'idempotency-key' })
}

/** The task that came of the same request before. Throws `conflict` where the key came with another one. */
async function claim(call: Call, draft: Task, key: string, body: Body): Promise<Entry | undefined> {
  const { book } = call.kernel.tasks
  const wanted: Claimed = { id: draft.id, digest: await digestOf(call, body) }
  for (let tries = 0; tries < 8; tries++) {
    const before = await book.claimKey(draft.owner, key, wanted)
    if (before === undefined) return undefined
    if (before.digest !== wanted.digest) {
      throw new GatewayError('conflict', 'This Idempotency-Key came with another request before.', {
        param: 'idempotency-key',
        headers: ['x-should-retry', 'false'],
      })
    }
    const entry = await book.look(draft.kind, draft.owner, before.id)
    if (entry !== undefined) return entry
    if (await book.renewKey(draft.owner, key, before, wanted)) return undefined
  }
  throw new GatewayError('unavailable', 'Too many requests with this Idempotency-Key at once.', { retryAfter: 1000 })
}

async function digestOf(call: Call, body: Body): Promise<string> {
  const hash = createHash('sha256').update(`${call.request.method} ${call.path}\n`)
  if (body.type === 'form') await digestForm(body, hash)
  return (body.type === 'bytes' ? hash.update(body.bytes) : hash).digest('hex')
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
      let entry = await book.create(this.#draft, Date.now() + this.patience(), expires)
      const outcome = await this.ask(entry, next => {
        entry = next
      })
      if (outcome.type === 'begun') return outcome.entry
      if (outcome.type === 'open') return await this.leaveOpen(entry)
      await book.remove(entry)
      if (this.#key !== undefined) await book.freeKey(this.#draft.owner, this.#key)
      this.refuse(outcome)
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
      // Who is asked stands in the record before it is asked.
      const aimed = { ...known.task, target: { upstream: exchange.upstream.name, model: exchange.model } }
      const next = await this.#call.kernel.tasks.book.replace(known, aimed, Date.now() + this.patience())
      if (next === undefined) return { type: 'open' }
      known = next
      changed(known)
      last = await this.askOne(known, exchange, target)
      if (last.type !== 'refused' || !last.retry) return last
    }
    return last
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
    if (status < 200 || status >= 300) {
      const retry = BUSY.has(status) && exchange.retry.covers(status)
      return { type: 'refused', error: errorOfStatus(status, headers), answer, retry }
    }
    const document = documentOf(answer, { response: exchange.response })
    const verdict = verdictOf(document, target.shape)
    if (verdict !== undefined) return declined(verdict, answer, exchange)
    const reading = readAnswer(document, target.shape)
    if (reading.id === undefined) {
      const said = reading.error?.message
      const message = said === undefined ? 'The upstream answered without naming a task.' : said
      return {
        type: 'refused',
        error: new GatewayError('bad_upstream_response', message, { phase: 'body' }),
        retry: false,
      }
    }
    // An upstream that names the task that was taken up goes on with that one.
    if (this.#parent !== undefined && reading.id === this.#parent.task.upstreamId) {
      return await this.goOn(entry, this.#parent, reading, target)
    }
    const now = Date.now()
    const begun = (task: Task): Task => {
      const upstreamId = reading.id ?? ''
      // Somebody thought that nobody waits for it any more: a success still counts.
      if (isEnded(task)) return { ...task, upstreamId, phase: task.state === 'cancelled' ? 'cancelling' : 'late' }
      const { poll, deadline } = target.shape
      const open: Task = { ...task, upstreamId, phase: 'open', pace: poll.clients, deadline: task.created + deadline }
      // What is ready at once is found ready by the first poll.
      const said = reading.state === 'succeeded' ? { ...reading, state: 'running' as const } : reading
      return heard(open, said, target.shape, now, false)
    }
    const { tasks } = this.#call.kernel
    const first = now + Math.max(target.shape.poll.first, retryAfter(headers) ?? 0)
    let known: Entry | undefined = entry
    while (known !== undefined) {
      const next = begun(known.task)
      const saved = await tasks.save(known, next, next.phase === 'done' ? null : first)
      if (saved !== undefined) return { type: 'begun', entry: saved }
      // Somebody gave it up in the meantime, or took it out.
      known = await tasks.book.find(entry.task.kind, entry.task.owner, entry.task.id)
    }
    return { type: 'refused', error: this.gone(), retry: false }
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
    await book.renewKey(owner, this.#key, before, { ...before, id })
  }

  private gone(): GatewayError {
    return faceOf(this.#task.kind).unknown(this.#draft.id)
  }

  /** Nobody knows whether the upstream took it. It is not asked again; the task fails unless something turns up. */
  private async leaveOpen(entry: Entry): Promise<Entry> {
    const { book } = this.#call.kernel.tasks
    const due = Math.min(Date.now() + UNCONFIRMED, entry.task.deadline)
    const left = await book.update(entry, task =>
      task.phase === 'submitting' ? { task: { ...task, ambiguous: true }, due } : undefined,
    )
    this.#call.kernel.tasks.wake(entry.task.kind, due)
    return left ?? entry
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

function answerTime({ first_byte, total }: Exchange['timeouts']): number {
  return Math.min(first_byte, total)
}
