import type { MeasuredPair } from '../../features/generations/measured.js'
import { type CommonHealth, type Health, takeCommon } from '../health.js'
import type { PastDocument } from '../history.js'
import type { LoadedPlan, Running } from '../load.js'
import type { Asker, PlanSource } from '../plan-source.js'
import type { Prepared, Target } from '../swap.js'
import type { Link } from './link.js'
import {
  HELD,
  HISTORY,
  PAST_DOCUMENT,
  PREPARE_TIMEOUT_MS,
  RELOAD,
  REREAD,
  type ReloadOutcome,
  ROLLBACK,
  STEP_TIMEOUT_MS,
} from './messages.js'

/** The plans of a worker: the supervisor reads the files, and says when all workers change over. */
export class RemotePlans implements PlanSource {
  readonly #link: Link
  readonly #target: Target
  readonly #health: Health
  #running: Running
  /** What is prepared, by number; one of them may be tried. */
  readonly #ready = new Map<number, { readonly running: Running; readonly prepared: Prepared }>()

  constructor(link: Link, running: Running, { target, health }: { readonly target: Target; readonly health: Health }) {
    this.#link = link
    this.#running = running
    this.#target = target
    this.#health = health
  }

  get running(): Running {
    return this.#running
  }

  get loaded(): LoadedPlan {
    const { problems, digest } = this.#health
    return { ...this.#running, problems, digest, sources: [], watch: [], parsed: new Map(), documents: undefined }
  }

  async follow(): Promise<void> {}

  async reload(by?: Asker): Promise<LoadedPlan> {
    return await this.#ask(false, by)
  }

  async history(): ReturnType<PlanSource['history']> {
    return await this.#link.ask(HISTORY, null, STEP_TIMEOUT_MS)
  }

  async rollback(number: number): Promise<LoadedPlan | undefined> {
    const outcome = await this.#link.ask(ROLLBACK, { number }, PREPARE_TIMEOUT_MS)
    return outcome === null ? undefined : this.#loadedAs(outcome)
  }

  async pastDocuments(number: number): ReturnType<PlanSource['pastDocuments']> {
    const found: PastDocument[] = []
    for (;;) {
      const next = await this.#link.ask(PAST_DOCUMENT, { number, at: found.length }, STEP_TIMEOUT_MS)
      if (next === null) return found.length === 0 ? undefined : found
      found.push(next)
    }
  }

  async held(): ReturnType<PlanSource['held']> {
    return await this.#link.ask(HELD, null, STEP_TIMEOUT_MS)
  }

  async count(): Promise<void> {
    await this.#ask(true)
  }

  rereadSecrets(upstream?: string): void {
    this.#link.tell(REREAD, upstream ?? null)
  }

  async close(): Promise<void> {
    for (const number of [...this.#ready.keys()]) this.drop(number)
  }

  /** Rejects where the plan cannot be served. */
  async prepare(running: Running, number: number): Promise<void> {
    this.drop(number)
    this.#ready.set(number, { running, prepared: await this.#target.prepare(running, number) })
  }

  async try(number: number, share: number): Promise<void> {
    const { prepared } = this.#readyOf(number)
    for (const other of this.#ready.keys()) if (other !== number) this.#ready.delete(other)
    await prepared.try(share)
  }

  async commit(number: number): Promise<void> {
    const { running, prepared } = this.#readyOf(number)
    // What is tried ends with it.
    this.#ready.clear()
    await prepared.commit()
    this.#running = running
    this.#health.generation = number
    this.#health.digest = running.plan.digest
    this.#health.off = running.plan.off
  }

  drop(number: number): void {
    this.#ready.get(number)?.prepared.drop()
    this.#ready.delete(number)
  }

  async measured(): Promise<MeasuredPair> {
    return await this.#target.measured()
  }

  #readyOf(number: number): { readonly running: Running; readonly prepared: Prepared } {
    const ready = this.#ready.get(number)
    if (ready === undefined) throw new Error(`generation ${number} is not prepared`)
    return ready
  }

  /** What the supervisor knows of all workers. */
  hear(common: CommonHealth): void {
    takeCommon(this.#health, common)
  }

  async #ask(counted: boolean, by?: Asker): Promise<LoadedPlan> {
    return this.#loadedAs(
      await this.#link.ask(RELOAD, { counted, ...(by === undefined ? {} : { by }) }, PREPARE_TIMEOUT_MS),
    )
  }

  #loadedAs({ isValid, problems }: ReloadOutcome): LoadedPlan {
    return { ...this.loaded, plan: isValid ? this.#running.plan : undefined, problems }
  }
}
