import { type Check, type CheckConfig, isCheck, type OpenCheck, readVerdict } from '../../core/check.js'
import { GatewayError } from '../../core/errors.js'
import { loadExport } from '../../core/load-module.js'
import { faultText, ModuleFault, type ModuleWarning, toolsFor, within } from '../../core/user-module.js'
import type { CheckedCall } from './checked-request.js'

/** A check that could not be opened is not opened again so soon; the pause doubles with each further failure. */
const FIRST_PAUSE_MS = 1000
const LAST_PAUSE_MS = 30_000
const MAX_DOUBLINGS = 10
/** Longest time for a check to open or to close. */
const OPEN_MS = 10_000

type Read = NonNullable<ReturnType<typeof readVerdict>>

/** What it tells the checks of the process. */
interface Heard {
  readonly warn: ModuleWarning
  onOpen(): void
}

/**
 * A module's check: opened when it is first needed, and for all routes and generations that declare the same. After no plan has it
 * any more, it is closed with its last request.
 */
export class OpenedCheck {
  readonly #config: CheckConfig
  readonly #heard: Heard
  #check: Check | undefined
  #opening: Promise<Check> | undefined
  #pausedUntil = 0
  #failures = 0
  /** Requests that it is asked about. */
  #asked = 0
  #isRetired = false

  constructor(config: CheckConfig, heard: Heard) {
    this.#config = config
    this.#heard = heard
  }

  /** What it says of a request, at once where it does. Throws, or rejects with, {@link ModuleFault}. */
  ask(request: CheckedCall): Read | Promise<Read> {
    if (this.#check === undefined) return this.#later(request, async () => (await this.opened()).check(request))
    let said: unknown
    try {
      said = this.#check.check(request)
      if (!isThenable(said)) return verdictOf(said)
    } catch (cause) {
      throw this.#faultOf(cause)
    }
    const waiting = said
    return this.#later(request, () => waiting)
  }

  /** Opens it ahead of the first request. */
  async opened(): Promise<Check> {
    if (this.#check !== undefined) return this.#check
    if (Date.now() < this.#pausedUntil) throw new ModuleFault('it could not be opened a moment ago')
    this.#opening ??= this.#open()
    return this.#opening
  }

  get isOpen(): boolean {
    return this.#check !== undefined || this.#opening !== undefined
  }

  /** No plan declares it any more. */
  retire(): void {
    this.#isRetired = true
    if (this.#asked === 0) void this.close()
  }

  /** Ends it, once it is open. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    const check = this.#check
    this.#check = undefined
    await this.#closeOne(check)
  }

  /** A fault in there changes nothing any more. */
  async #closeOne(check: unknown): Promise<void> {
    if (!isCheck(check) || check.close === undefined) return
    await within(OPEN_MS, this.#config.module, () => check.close?.()).catch(() => undefined)
  }

  async #open(): Promise<Check> {
    const { module, options } = this.#config
    let isLate = false
    try {
      const openCheck = await loadExport<OpenCheck>(this.#config, 'openCheck')
      const check: unknown = await within(OPEN_MS, module, async () => {
        const made: unknown = await openCheck(options, toolsFor(module, this.#heard.warn))
        if (isLate) void this.#closeOne(made)
        return made
      })
      if (!isCheck(check)) throw new ModuleFault('what openCheck returns has no function check')
      this.#check = check
      this.#failures = 0
      this.#heard.onOpen()
      return check
    } catch (cause) {
      isLate = true
      this.#pausedUntil = Date.now() + Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LAST_PAUSE_MS)
      this.#failures = Math.min(this.#failures + 1, MAX_DOUBLINGS)
      throw this.#faultOf(cause)
    } finally {
      this.#opening = undefined
    }
  }

  #faultOf(cause: unknown): unknown {
    if (cause instanceof ModuleFault || cause instanceof GatewayError) return cause
    return new ModuleFault(faultText(cause, this.#config.module))
  }

  async #later(request: CheckedCall, work: () => unknown): Promise<Read> {
    const { timeout, module } = this.#config
    this.#asked++
    let refusal: unknown
    try {
      // What the gateway itself refuses, as the body was read, is passed on as it is.
      const said = await within(timeout, module, async () => {
        try {
          return await work()
        } catch (cause) {
          if (cause instanceof GatewayError) refusal = cause
          throw cause
        }
      })
      return verdictOf(said)
    } catch (cause) {
      throw refusal ?? cause
    } finally {
      request.end()
      if (--this.#asked === 0 && this.#isRetired) void this.close()
    }
  }
}

function isThenable(said: unknown): said is PromiseLike<unknown> {
  return typeof said === 'object' && said !== null && typeof Reflect.get(said, 'then') === 'function'
}

/** Reading what a module says runs its code where it has getters. */
function verdictOf(said: unknown): Read {
  let verdict: Read | undefined
  try {
    verdict = readVerdict(said)
  } catch {
    throw new ModuleFault('what it says cannot be read')
  }
  if (verdict === undefined) throw new ModuleFault("what it says is neither 'pass' nor a refusal")
  return verdict
}
