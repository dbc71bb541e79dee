import { Worker } from 'node:worker_threads'
import { shippedSchema } from '../../config/schemas.js'
import type { Config } from '../../core/config.js'
import { packageRoot } from '../../core/package-root.js'
import { type Entries, type Head, type Order, type Question, SECTIONS, type Settings, type Spots } from './messages.js'
import { unwrap } from './parcel.js'
import { isSame } from './same.js'

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
   * The configuration whose `settings` the head has. Entries that say the same as those of `before` are those very objects:
   * whatever was made of them is still good, and they take no more memory.
   */
  async config(settings: unknown, before: Config): Promise<Config> {
    const sections = Object.fromEntries(SECTIONS.map(name => [name, Object.create(null)]))
    for (;;) {
      const entries = await this.#ask<Entries>('entries')
      if (entries.length === 0) break
      for (const [section, name, content] of entries) {
        const value = unwrap(content)
        const known = before[section][name]
        sections[section][name] = isSame(known, value) ? known : section === 'schemas' ? withCheck(name, value) : value
      }
    }
    // The thread has sent each section whole.
    return { ...(unwrap(settings) as Settings), ...(sections as Omit<Config, keyof Settings>) }
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

/** A shipped request schema as this thread has it, with the check that was compiled ahead of time. */
function withCheck(name: string, schema: unknown): unknown {
  const shipped = shippedSchema(packageRoot(), name)
  return isSame(shipped, schema) ? shipped : schema
}
