import cluster, { type Worker } from 'node:cluster'
import { join } from 'node:path'
import { packageRoot } from '../../core/package-root.js'
import type { Log } from '../../sinks/log.js'
import { messageOf, StartError } from '../problems.js'
import { type Frame, Link } from './link.js'
import { END, HELLO } from './messages.js'
import type { Hub } from './peers.js'

/** Who served for so long is replaced at once when it dies. */
const STEADY_MS = 1000
/** Pauses before others are replaced: they double from one failure to the next. */
const FIRST_PAUSE_MS = 100
const LAST_PAUSE_MS = 5000
/** So many starts in a row fail, of all workers together, while none serves: then the gateway ends. */
const MAX_FAILED_STARTS = 5

/** A worker process. */
export interface Member {
  readonly number: number
  readonly pid: number
  readonly link: Link
  /** The number of the plan that it serves; 0: none yet. */
  generation: number
  /** The number of the plan that gets a share of its requests; 0: none does, or none did lately. */
  tries: number
  /** What it has prepared, by number. */
  readonly ready: Set<number>
}

/** How a process ended, and when it began (monotonic). */
interface End {
  readonly code: number
  readonly signal: string
  readonly begun: number
}

interface CrewOptions {
  readonly count: number
  readonly hub: Hub
  readonly log: Log
  /** Makes a new process serve. Rejects with {@link StartError} where another try would fail, too. */
  readonly greet: (member: Member) => Promise<void>
  /** A process has ended, with everything that it held. */
  readonly onLost: (member: Member) => void
  /** No worker can be started any more. */
  readonly onHopeless: (error: StartError) => void
}

/** The worker processes: starts them, replaces those that die, and ends them. */
export class Crew {
  readonly #options: CrewOptions
  readonly #members = new Map<number, Member>()
  readonly #processes = new Map<number, Worker>()
  readonly #pauses = new Map<number, NodeJS.Timeout>()
  /** Consecutive failures, by number of the worker. */
  readonly #failures = new Map<number, number>()
  #failedStarts = 0
  #isEnding = false
  #onEmpty: () => void = () => undefined
  /** The worker that ends for its successor. */
  #leaving: { readonly member: Member; readonly succeeded: () => void } | undefined
  #rolling: Promise<void> | undefined
  readonly #empty = new Promise<void>(resolve => {
    this.#onEmpty = resolve
  })
  #onServing: ((error?: StartError) => void) | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    // Connections wait at the system for whichever worker is free: docs/decisions/workers.md.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: join(packageRoot(), 'bin', 'gateway.js'), args: ['work'], serialization: 'advanced' })
  }

  /** Workers that serve. */
  get serving(): readonly Member[] {
    return [...this.#members.values()].filter(({ generation }) => generation > 0)
  }

  /** Resolves when all workers serve. Rejects with {@link StartError} if one cannot. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#onServing = error => {
        if (error !== undefined) reject(error)
        else if (this.serving.length === this.#options.count) resolve()
      }
      for (let number = 1; number <= this.#options.count; number++) this.#begin(number)
    })
    this.#onServing = undefined
  }

  /**
   * From now on no one who ends is replaced. Resolves when all have ended; those that have not in time are killed. May be
   * called again, with less time.
   */
  async end(isUrgent: boolean, timeoutMs: number): Promise<void> {
    this.#isEnding = true
    for (const pause of this.#pauses.values()) clearTimeout(pause)
    for (const { link } of this.#members.values()) link.tell(END, { isUrgent })
    const timer = setTimeout(() => {
      for (const worker of this.#processes.values()) worker.process.kill('SIGKILL')
    }, timeoutMs)
    if (this.#processes.size > 0) await this.#empty
    clearTimeout(timer)
  }

  /**
   * Replaces the workers one after another: each finishes what is open, for so long at most, and the next one follows when its
   * successor serves. Calls meanwhile share it.
   */
  roll(timeoutMs: () => number): Promise<void> {
    this.#rolling ??= this.#roll(timeoutMs).finally(() => {
      this.#rolling = undefined
    })
    return this.#rolling
  }

  async #roll(timeoutMs: () => number): Promise<void> {
    for (const member of this.serving) {
      if (this.#isEnding || this.#members.get(member.number) !== member) continue
      const succeeded = new Promise<void>(resolve => {
        this.#leaving = { member, succeeded: resolve }
      })
      member.link.tell(END, { isUrgent: false })
      const timer = setTimeout(() => this.replace(member), timeoutMs())
      await Promise.race([succeeded, this.#empty])
      clearTimeout(timer)
      this.#leaving = undefined
    }
  }

  /** Ends a worker that does not react; another one takes its place. */
  replace({ number }: Member): void {
    this.#processes.get(number)?.process.kill('SIGKILL')
  }

  #begin(number: number): void {
    const { hub, greet } = this.#options
    const worker = cluster.fork()
    const link = new Link((frame, sent) => {
      if (worker.isConnected()) worker.send(frame, sent)
      else sent()
    })
    const member: Member = { number, pid: worker.process.pid ?? 0, link, generation: 0, tries: 0, ready: new Set() }
    worker.on('message', (frame: Frame) => link.receive(frame))
    this.#members.set(number, member)
    this.#processes.set(number, worker)
    hub.join(number, link)
    const begun = performance.now()
    worker.once('exit', (code, signal) => this.#lost(member, { code, signal, begun }))
    // Messages to a process that has just ended; or there is none, because the system has no room.
    worker.on('error', () => {
      if (worker.process.pid === undefined) this.#lost(member, { code: 1, signal: '', begun })
    })
    link.on(HELLO, () => {
      // A message from before it could listen is lost.
      if (this.#isEnding) return this.replace(member)
      greet(member).then(
        () => this.#serves(member),
        (error: unknown) => this.#unable(member, error),
      )
    })
  }

  #serves(member: Member): void {
    const { number, pid } = member
    this.#failedStarts = 0
    if (this.#leaving?.member.number === number && this.#leaving.member !== member) this.#leaving.succeeded()
    this.#options.log.debug({ worker: number, pid }, 'a worker serves')
    this.#onServing?.()
  }

  /** It could not start. */
  #unable(member: Member, error: unknown): void {
    if (this.#isEnding || this.#members.get(member.number) !== member) return
    if (error instanceof StartError && this.#onServing !== undefined) this.#onServing(error)
    else this.#options.log.error({ worker: member.number, error: messageOf(error) }, 'a worker cannot start')
    this.replace(member)
  }

  #lost(member: Member, end: End): void {
    const { number, pid, link } = member
    this.#members.delete(number)
    this.#processes.delete(number)
    this.#options.hub.leave(number)
    link.close()
    this.#options.onLost(member)
    if (this.#isEnding) {
      if (this.#processes.size === 0) this.#onEmpty()
      return
    }
    if (this.#leaving?.member === member) {
      this.#options.log.info({ worker: number, pid }, 'a worker has ended for its successor')
      this.#begin(number)
      return
    }
    this.#died(member, end)
  }

  #died({ number, pid, generation }: Member, end: End): void {
    const lived = performance.now() - end.begun
    const how = end.signal ? { signal: end.signal } : { exit: end.code }
    this.#options.log.error({ worker: number, pid, ...how }, 'a worker has ended')
    const hasServed = generation > 0
    this.#failedStarts = hasServed ? 0 : this.#failedStarts + 1
    if (this.#failedStarts >= MAX_FAILED_STARTS && this.serving.length === 0) {
      this.#giveUp(number, how)
      return
    }
    const failures = hasServed && lived >= STEADY_MS ? 0 : (this.#failures.get(number) ?? 0) + 1
    this.#failures.set(number, failures)
    const pause = failures === 0 ? 0 : Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1))
    this.#pauses.set(
      number,
      setTimeout(() => {
        if (!this.#isEnding) this.#begin(number)
      }, pause),
    )
  }

  #giveUp(number: number, how: object): void {
    const [[word, value] = []] = Object.entries(how)
    const error = new StartError(`no worker can be started: worker ${number} ended before it served (${word} ${value})`)
    if (this.#onServing !== undefined) this.#onServing(error)
    else this.#options.onHopeless(error)
  }
}
