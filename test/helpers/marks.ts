import { inTime, Journal, withResolvers } from './journal.js'

/** What reaches the world outside the gateway of a task: requests to its upstream, and notifications. */
export type Step = 'submit' | 'poll' | 'proof' | 'content' | 'delete' | 'cancel' | 'told'

/** A point of a task's way at which the gateway is killed. */
export interface Mark {
  /** What stops there; the n-th of these that would be answered, the first where nothing is said. */
  readonly at: Step
  readonly nth?: number
  /** How far the exchange is at that moment. `held`: the request is there; `half answered`: half of the answer is sent;
   * `answered`: all of it is, and the process may or may not get to see it; `half read`: half of the request is there. */
  readonly how: 'half read' | 'held' | 'half answered' | 'answered'
  /** The process that takes over is killed at the same point. */
  readonly twice?: boolean
}

interface Parked {
  readonly mark: Mark
  release(): void
}

/** Which tasks are at their marks. A task is known by its name, which is part of its request. */
export class Marks {
  readonly #marks = new Map<string, Mark>()
  readonly #parked = new Map<string, Parked>()
  readonly #answered = new Map<string, number>()
  readonly #came = new Set<string>()
  #onArrival: () => void = () => undefined
  /** Each step that was seen, as `name step`. */
  readonly seen = new Journal<string>('steps')

  expect(name: string, mark: Mark): void {
    this.#marks.set(name, mark)
  }

  /** The mark of a task whose step has come, where that is it. */
  reached(name: string, step: Step): Mark | undefined {
    const mark = this.#marks.get(name)
    return mark?.at === step && this.answered(name, step) + 1 >= (mark.nth ?? 1) ? mark : undefined
  }

  /** The task is at its mark until `release`; `gone` says that it has left. */
  park(name: string, mark: Mark, release: () => void): { readonly gone: () => void } {
    const parked: Parked = { mark, release }
    this.#parked.set(name, parked)
    this.#came.add(name)
    this.#onArrival()
    const gone = (): void => {
      if (this.#parked.get(name) === parked) this.#parked.delete(name)
    }
    return { gone }
  }

  answered(name: string, step: Step): number {
    return this.#answered.get(`${name} ${step}`) ?? 0
  }

  note(name: string, step: Step): void {
    this.#answered.set(`${name} ${step}`, this.answered(name, step) + 1)
  }

  /** Resolves when all of them have come to their marks. On a slow machine some may have gone on by then. */
  async standing(names: readonly string[]): Promise<void> {
    const missing = (): string[] => names.filter(name => !this.#came.has(name))
    const all = withResolvers<void>()
    this.#onArrival = () => {
      if (missing().length === 0) all.resolve()
    }
    this.#onArrival()
    await inTime(all.promise, () => `not at their marks: ${missing().join(', ')}`)
  }

  /** Anyone who should be answered is; the marks hold no one any more. Tells which of them stood there until now. */
  release(names: readonly string[]): readonly string[] {
    const standing = names.filter(name => this.#parked.has(name))
    const parked = names.flatMap(name => this.#parked.get(name) ?? [])
    for (const name of names) {
      this.#marks.delete(name)
      this.#parked.delete(name)
    }
    for (const { mark, release } of parked) if (mark.how === 'answered') release()
    return standing
  }

  /** They are to come to their marks again. */
  again(names: readonly string[]): void {
    for (const name of names) this.#came.delete(name)
  }
}
