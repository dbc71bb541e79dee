import type { Problem } from '../../core/problems.js'
import type { Log } from '../../sinks/log.js'
import type { Health } from '../health.js'
import { messageOf } from '../problems.js'
import { SourceFault } from './fault.js'
import type { RemoteSource } from './remote.js'

/** Share of the interval by which requests of a fleet are spread, to either side. */
const JITTER = 0.1
/** Longest interval while requests fail, unless the declared one is longer, milliseconds. */
const MAX_PAUSE_MS = 600_000

interface Follower {
  readonly log: Log
  readonly health: Pick<Health, 'fetches'>
  /** Another document is there, one after a failure, or one that is refused. */
  reload(): Promise<unknown>
  /** The counts have changed. */
  onCount(): void
}

/** Asks the address of a running gateway's configuration again and again, and says what it finds. Without one it does nothing. */
export class FollowedSource {
  readonly #remote: RemoteSource | undefined
  readonly #follower: Follower
  readonly #counts = { changed: 0, same: 0, refused: 0, failed: 0 }
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Requests that have failed since the last good one. */
  #faults = 0
  /** The last request failed, and that is logged. */
  #isAway = false
  #refusal: Problem | undefined
  /** The last reload failed, though the document may be good. */
  #isPending = false
  #unwritable: string | undefined

  constructor(remote: RemoteSource | undefined, follower: Follower) {
    this.#remote = remote
    this.#follower = follower
    if (remote !== undefined) follower.health.fetches = this.#counts
  }

  get text(): Buffer | undefined {
    return this.#remote?.text
  }

  /** Asks for what the address says now, if `isAsked`. Returns why a new document is refused, if it is. */
  async read(isAsked: boolean): Promise<Problem | undefined> {
    if (isAsked && this.#remote !== undefined) await this.#ask(this.#remote)
    return this.#refusal
  }

  follow(): void {
    if (this.#remote === undefined || this.#timer !== undefined || this.#isClosed) return
    const most = Math.max(this.#remote.poll, MAX_PAUSE_MS)
    const pause = Math.min(this.#remote.poll * 2 ** Math.min(this.#faults, 16), most)
    const spread = 1 - JITTER + 2 * JITTER * Math.random()
    this.#timer = setTimeout(() => void this.#poll(), pause * spread).unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** The document serves. */
  accepted(): void {
    this.#remote?.keep().catch(error => {
      const message = messageOf(error)
      if (message !== this.#unwritable)
        this.#follower.log.warn({ error: message }, 'the configuration is not kept for starts')
      this.#unwritable = message
    })
  }

  async #poll(): Promise<void> {
    const remote = this.#remote
    if (remote === undefined) return
    const isNews = await this.#ask(remote)
    if ((isNews || this.#isPending) && !this.#isClosed) {
      // It reports its own failures.
      this.#isPending = await this.#follower.reload().then(
        () => false,
        () => true,
      )
    }
    this.#timer = undefined
    this.#follower.onCount()
    this.follow()
  }

  /** Whether there is something to be reloaded, or to be reported by a reload. */
  async #ask(remote: RemoteSource): Promise<boolean> {
    const { log } = this.#follower
    const { name: source } = remote
    try {
      const isNew = await remote.ask()
      this.#counts[isNew ? 'changed' : 'same']++
      const isBack = this.#faults > 0
      if (isBack) log.info({ source }, 'the configuration can be fetched again')
      this.#faults = 0
      this.#isAway = false
      this.#refusal = undefined
      return isNew || isBack
    } catch (error) {
      const isRefused = error instanceof SourceFault && error.kind === 'refused'
      this.#counts[isRefused ? 'refused' : 'failed']++
      this.#faults++
      const wasAway = this.#isAway
      this.#isAway = !isRefused
      if (isRefused) this.#refusal = refusalOf(source, error.message)
      else if (!wasAway)
        log.warn({ source, error: messageOf(error) }, 'the configuration cannot be fetched; the last one stays')
      return isRefused
    }
  }
}

function refusalOf(file: string, message: string): Problem {
  const position = { file, line: 1, column: 1 }
  return { severity: 'error', rule: 'refused-source', path: '', message, position, length: 1 }
}
