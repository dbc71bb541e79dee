import { randomBytes } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../core/folders.js'
import { exchangeText } from './exchange-text.js'
import { sessionText } from './session-text.js'
import type { RecordedAbout, WholeExchange, WholeSession } from './whole-exchange.js'

/** Most of what waits to be written, and of sessions that are open, bytes: of what comes then there is no recording. */
const MAX_HELD_BYTES = 256 * 1024 * 1024
/** Most characters of a name that are in a file's name. */
const MAX_NAME_CHARS = 40

/** Writes exchanges and sessions one after the other, each to a file of its own. */
export class RecordingsSink {
  readonly #notice: (fields: object, message: string) => void
  #last: Promise<void> = Promise.resolve()
  #held = 0
  #number = 0

  constructor(notice: (fields: object, message: string) => void) {
    this.#notice = notice
  }

  /** Room for bytes that a recording is going to have; false: there is none. `write` or `release` gives it back. */
  reserve(bytes: number): boolean {
    if (this.#held + bytes > MAX_HELD_BYTES) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }

  /** `reserved`: the bytes for which there is room. */
  write(recording: WholeExchange | WholeSession, reserved: number): void {
    const number = ++this.#number
    this.#last = this.#last
      .then(() => save(recording, number))
      .catch((cause: NodeJS.ErrnoException) => this.leftOut(recording.about, cause.code ?? cause.message))
      .finally(() => this.release(reserved))
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
async function save(recording: WholeExchange | WholeSession, number: number): Promise<void> {
  const { config, route, model } = recording.about
  const time = new Date(recording.time).toISOString().replaceAll(/[-:]/g, '')
  const words = [route, model].map(word => word.replaceAll(/[^\w.-]+/g, '-').slice(0, MAX_NAME_CHARS))
  const name = [time, String(number).padStart(4, '0'), ...words, randomBytes(3).toString('hex')].join('-')
  await makeFolder(config.into, 0o700)
  const draft = join(config.into, `.${name}`)
  const text = 'frames' in recording ? sessionText(recording) : exchangeText(recording)
  try {
    await writeFile(draft, text, { mode: 0o600 })
    await rename(draft, join(config.into, `${name}.json`))
  } catch (cause) {
    await rm(draft, { force: true })
    throw cause
  }
}
