import { join } from 'node:path'
import type { StoreConfig } from '../core/config.js'
import { type Store, StoreError } from '../core/store.js'
import { MemoryStore } from '../stores/memory.js'
import { StartError } from './problems.js'

/** How the store of each type is opened. Libraries are loaded only where they are used. */
const DRIVERS: Readonly<Record<StoreConfig['type'], (config: StoreConfig) => Promise<Store>>> = {
  memory: async () => new MemoryStore(),
  file: async ({ path }) => {
    const { FileStore } = await import('../stores/file.js')
    return new FileStore(join(path, 'store'))
  },
}

/** Opens the store that the configuration asks for. Throws {@link StartError} with one clear line where that cannot be. */
export async function openStore(config: StoreConfig): Promise<Store> {
  try {
    return await DRIVERS[config.type](config)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StartError(`${error.message}${ADVICE[error.fault]}`)
  }
}

const ADVICE: Readonly<Record<StoreError['fault'], string>> = {
  refused: '; choose another folder (store.path), or keep nothing (store: { type: memory })',
  newer: '; start the newer version, or choose another folder (store.path)',
  corrupt: '',
  full: '',
  unavailable: '',
}

/** How often what has expired is taken out, milliseconds, and how much of it at a time. */
const EVERY = 10_000
const AT_A_TIME = 500
const MOST_TIMES = 20

/** Takes expired records out of a store, a little at a time, until it is stopped. */
export class Sweeper {
  readonly #store: Store
  readonly #onFault: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined

  constructor(store: Store, onFault: (error: Error) => void) {
    this.#store = store
    this.#onFault = onFault
    this.#timer = setInterval(() => this.tick(), EVERY)
    this.#timer.unref()
  }

  /** Resolves when a sweep under way has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  private tick(): void {
    if (this.#running !== undefined) return
    this.#running = this.sweep()
      .catch(this.#onFault)
      .finally(() => {
        this.#running = undefined
      })
  }

  private async sweep(): Promise<void> {
    const now = Date.now()
    for (let time = 0; time < MOST_TIMES; time++) {
      if ((await this.#store.sweep(now, AT_A_TIME)) < AT_A_TIME) return
    }
  }
}
