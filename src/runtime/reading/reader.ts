import { Worker } from 'node:worker_threads'
import type { Config } from '../../core/config.js'
import type { Entries, Head, Order, Question, Spots } from './messages.js'
import { Assembly } from './slices.js'

/**
 * Young objects of the thread, MiB: what is parsed lives to the end of its file, and would be moved again and again in the
 * usual few.
 */
const YOUNG_MIB = 64

/**
 * Reads a configuration on a thread of its own, so that requests do not wait for it: megabytes of YAML take seconds, and
 * leave hundreds of megabytes behind. What was read comes over in slices, between which requests are served.
 */
export class Reader {
  readonly #worker: Worker
  readonly head: Promise<Head>

  constructor(order: Order) {
    this.#worker = new Worker(new URL('./thread.js', import.meta.url), {
      workerData: { ...order, env: { ...order.env } } satisfies Order,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
      // Those of the process are for its main thread: debuggers, profilers, loaders.
      execArgv: [],
    })
    this.#worker.unref()
    this.head = this.#answer<Head>()
  }

  /**
   * The configuration with the head's `settings`. Entries that equal those of `before` are the same objects:
   * everything that was compiled from them stays valid, and they take no further memory.
   */
  async config(settings: unknown, before: Config): Promise<Config> {
    const assembly = new Assembly(before)
    for (;;) {
      const entries = await this.#ask<Entries>('entries')
      if (entries.length === 0) return assembly.finish(settings)
      assembly.add(entries)
    }
  }

  /** Problems that were found later, with their places. */
  async located<T extends { readonly path: string }>(problems: readonly T[]): Promise<(T & Spots[number])[]> {
    const spots = await this.#ask<Spots>({ locate: problems.map(problem => problem.path) })
    return problems.flatMap((problem, index) => {
      const spot = spots[index]
      return spot === undefined ? [] : { ...problem, ...spot }
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #ask<T>(question: Question): Promise<T> {
    const answer = this.#answer<T>()
    this.#worker.postMessage(question)
    return answer
  }

  /** One question at a time: the next message is its answer. */
  #answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker
      const settle = (): void => {
        worker.off('message', answered).off('error', failed).off('exit', ended)
      }
      const answered = (message: T): void => {
        settle()
        resolve(message)
      }
      const failed = (error: Error): void => {
        settle()
        reject(error)
      }
      const ended = (): void => failed(new Error('the configuration reader thread has ended'))
      worker.on('message', answered).on('error', failed).on('exit', ended)
    })
  }
}
