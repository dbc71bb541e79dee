import { randomBytes } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exchangeText } from './exchange-text.js'
import type { RecordedAbout, WholeExchange } from './whole-exchange.js'

/** Most of the exchanges that wait to be written, bytes: of what comes then there is no recording. */
const MAX_WAITING_BYTES = 256 * 1024 * 1024
/** Most characters of a name that are in a file's name. */
const MAX_NAME_CHARS = 40

/** Writes exchanges one after the other, each to a file of its own. */
export class RecordingsSink {
  readonly #notice: (fields: object, message: string) => void
  #last: Promise<void> = Promise.resolve()
  #waiting = 0
  #number = 0

  constructor(notice: (fields: object, message: string) => void) {
    this.#notice = notice
  }

  write(exchange: WholeExchange, size: number): void {
    if (this.#waiting + size > MAX_WAITING_BYTES) {
      this.leftOut(exchange.about, 'too many wait to be written')
      return
    }
    this.#waiting += size
    const number = ++this.#number
    this.#last = this.#last
      .then(() => save(exchange, number))
      .catch((cause: NodeJS.ErrnoException) => this.leftOut(exchange.about, cause.code ?? cause.message))
      .finally(() => {
        this.#waiting -= size
      })
  }

  leftOut({ route, model, config }: RecordedAbout, reason: string): void {
    this.#notice({ route, model, folder: config.into, reason }, 'an exchange is not recorded')
  }

  /** What waits is written first. */
  async close(): Promise<void> {
    await this.#last
  }
}

/** Files sort as their requests began. A reader never sees half of one. */
async function save(exchange: WholeExchange, number: number): Promise<void> {
  const { config, route, model } = exchange.about
  const time = new Date(exchange.time).toISOString().replaceAll(/[-:]/g, '')
  const words = [route, model].map(word => word.replaceAll(/[^\w.-]+/g, '-').slice(0, MAX_NAME_CHARS))
  const name = [time, String(number).padStart(4, '0'), ...words, randomBytes(3).toString('hex')].join('-')
  await mkdir(config.into, { recursive: true, mode: 0o700 })
  const draft = join(config.into, `.${name}`)
  await writeFile(draft, exchangeText(exchange), { mode: 0o600 })
  await rename(draft, join(config.into, `${name}.json`))
}
