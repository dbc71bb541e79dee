import { setTimeout as sleep } from 'node:timers/promises'
import { FairShares } from '../../core/fair-shares.js'
import { isObject, type Json } from '../../core/json.js'
import type { TaskShape } from '../../core/task.js'
import { InnerExchange, type InnerRequest, type Receiver, type Serve } from '../../kernel/inner.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { CONFIRM_RETRY_MS, confirmSubmit } from './confirm-submit.js'
import type { TaskRecords } from './host.js'
import { type Reading, readAnswer } from './reading.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'
import { SubmitLease } from './submit-lease.js'
import { applyUpstreamStatus, FAILURES, fail } from './transition.js'
import { maxAnswerBytes, readDocument } from './upstream.js'

/** The variant of an answer that is the result itself. */
const WHOLE = 'content'
/** Between the first two attempts to store a result; each pause is twice as long as the one before. */
const KEEP_PAUSE_MS = 500

/** Tasks of the process, and those that it works on. */
interface Runner extends TaskRecords {
  readonly running: RunningTasks
  /** Keeps the process from ending before this is done. */
  hold<T>(work: Promise<T>): Promise<T>
}

/** Most tasks that one process runs at once, and bytes of their requests. */
const MAX_RUNNING = 256
const MAX_RUNNING_BYTES = 256 * 1024 * 1024

/** Tasks that this process works on, by id. */
export class RunningTasks extends Map<string, RunningTask> {
  readonly #places = new FairShares(MAX_RUNNING)
  readonly #bytes = new FairShares(MAX_RUNNING_BYTES)

  /** Takes the place of a task with so large a request; false: there is none. */
  take(owner: string, bytes: number): boolean {
    if (!this.#places.take(owner)) return false
    if (this.#bytes.take(owner, bytes)) return true
    this.#places.release(owner)
    return false
  }

  release(owner: string, bytes: number): void {
    this.#places.release(owner)
    this.#bytes.release(owner, bytes)
  }
}

/** A task whose work is a request to the gateway itself: the answer to that is its result. */
export class RunningTask implements Receiver {
  /** Bytes of the request. */
  readonly #size: number
  readonly #tasks: Runner
  readonly #entry: TaskEntry
  readonly #shape: TaskShape
  readonly #exchange: InnerExchange
  /** Others take the task for lost when it ends. */
  readonly #lease: SubmitLease
  readonly #pieces: Buffer[] = []
  #status = 0
  #headers: readonly string[] = []
  #length = 0
  #isOver = false
  #isBroken = false
  #end: () => void = () => undefined

  constructor(tasks: Runner, entry: TaskEntry, shape: TaskShape, from: HttpRequest, request: InnerRequest) {
    this.#tasks = tasks
    this.#entry = entry
    this.#shape = shape
    this.#size = request.body.length
    this.#exchange = new InnerExchange(from, request, this)
    this.#lease = new SubmitLease(tasks, entry, () => this.cancel())
    tasks.running.set(entry.task.id, this)
  }

  start(serve: Serve): void {
    const ended = new Promise<void>(resolve => {
      this.#end = resolve
    })
    void this.#tasks.hold(ended.then(() => this.#settle()))
    if (this.#isBroken) this.#end()
    else serve(this.#exchange)
  }

  /** The task is cancelled or deleted. */
  cancel(): void {
    this.#exchange.destroy()
  }

  head(status: number, headers: readonly string[]): void {
    this.#status = status
    this.#headers = headers
  }

  data(bytes: Buffer): boolean {
    this.#length += bytes.length
    if (this.#length <= maxAnswerBytes(this.#shape)) this.#pieces.push(bytes)
    else this.#exchange.destroy()
    return true
  }

  end(): void {
    this.#isOver = true
    this.#end()
  }

  broken(): void {
    this.#isBroken = true
    this.#end()
  }

  /** Writes the end of the task, again and again while the store is away; one that has ended meanwhile stays as it is. */
  async #settle(): Promise<void> {
    const { host, running } = this.#tasks
    const { task: begun } = this.#entry
    try {
      const kept = await this.#kept(begun)
      const known = await this.#lease.end()
      const now = Date.now()
      const ended = ({ lapsed: _, ...task }: Task): Task => {
        if (task.phase === 'deleting') return task
        if (kept === undefined) return fail(task, 'not_kept', now, this.#shape.retention)
        return applyUpstreamStatus(task, kept, this.#shape, now, kept.proved || kept.artifacts.length > 0)
      }
      await confirmSubmit(this.#tasks, known, ended, now)
    } catch (error) {
      // The record comes due when its lease has ended.
      this.#lease.end().catch(() => undefined)
      host.onStoreFault(error)
    } finally {
      running.delete(begun.id)
      running.release(begun.owner, this.#size)
    }
  }

  /** The answer, after its results were stored; undefined if that cannot be done in time. */
  async #kept(task: Task): Promise<Reading | undefined> {
    const reading = this.#reading()
    const until = Date.now() + CONFIRM_RETRY_MS
    for (let pause = KEEP_PAUSE_MS; ; pause *= 2) {
      const kept = await this.#tasks.results.keep(task, reading, this.#shape)
      if (kept !== undefined) return { ...kept, artifacts: kept.artifacts.filter(one => one.kept !== undefined) }
      if (Date.now() + pause > until) return undefined
      await sleep(pause)
    }
  }

  #reading(): Reading {
    const body = Buffer.concat(this.#pieces)
    const type = this.#header('content-type')
    if (!this.#isOver) return failed('failed', FAILURES.failed)
    const { document, bytes } = /json/i.test(type) ? readDocument({ body }, { response: undefined }) : UNREAD
    if (this.#status >= 300) {
      const said = isObject(document) && isObject(document.error) ? document.error : {}
      const code = this.#header('x-gateway-error') || textOr(said.code, 'failed')
      return failed(code, textOr(said.message, FAILURES.failed))
    }
    const whole = { variant: WHOLE, type: type.split(';', 1)[0] ?? '', base64: body.toString('base64') }
    const read = readAnswer(document, this.#shape, bytes)
    const inline = document === undefined ? [whole] : read.inline
    // Where no place is declared, JSON may lack a result: its fields are all that is wanted.
    const proved = read.proved || (document !== undefined && this.#shape.result.size === 0)
    return { ...read, inline, proved, state: 'succeeded', error: undefined }
  }

  #header(name: string): string {
    const at = this.#headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name)
    return at < 0 ? '' : (this.#headers[at + 1] ?? '')
  }
}

const UNREAD = { document: undefined, bytes: Buffer.alloc(0) }

function textOr(value: Json | undefined, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function failed(code: string, message: string): Reading {
  return {
    ...{ id: undefined, state: 'failed', expired: false, progress: undefined, artifacts: [], inline: [], fields: {} },
    ...{ error: { code, message }, proved: false },
  }
}
