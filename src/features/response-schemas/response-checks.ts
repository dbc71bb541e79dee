import { parseJson } from '../../core/json.js'
import type { Violation } from '../../core/violation.js'
import type { Service } from '../../kernel/stages.js'
import type { HeldAnswer } from './held-answer.js'

/** Most answers that wait for their check. */
const MAX_WAITING = 64
/** The same difference of a route is logged once in so many milliseconds. */
const QUIET_MS = 60_000
/** Most differences that are remembered for that. */
const MAX_LOGGED = 1000
/** Longest path that a line of the log has, in characters. */
const MAX_PATH_CHARS = 200

type CheckResult = 'fits' | 'differs' | 'unchecked'

/** Which answer it is, for the log. */
interface About {
  readonly id: string
  readonly route: string
  readonly model?: string
  readonly upstream: string | undefined
}

interface Waiting {
  readonly about: About
  readonly answer: HeldAnswer
  readonly validate: (document: unknown) => readonly Violation[]
}

/** Checks answers one by one, each in a turn of the event loop of its own. */
export class ResponseChecks implements Service {
  /** Bytes that answers hold. */
  readonly use = { held: 0 }
  readonly #notice: (fields: object, message: string) => void
  readonly #waiting: Waiting[] = []
  /** When a difference was logged, by the monotonic clock. */
  readonly #logged = new Map<string, number>()
  /** Called once for each answer that was meant. */
  onResult: (route: string, result: CheckResult) => void = () => undefined

  constructor(notice: (fields: object, message: string) => void) {
    this.#notice = notice
  }

  ended(about: About, answer: HeldAnswer, validate: Waiting['validate']): void {
    if (this.#waiting.length >= MAX_WAITING) {
      answer.release()
      this.onResult(about.route, 'unchecked')
      return
    }
    this.#waiting.push({ about, answer, validate })
    if (this.#waiting.length === 1) setImmediate(() => this.#next())
  }

  /** Checks what still waits. */
  async close(): Promise<void> {
    while (this.#waiting.length > 0) this.#check()
  }

  #next(): void {
    this.#check()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
  }

  #check(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    const { about, answer, validate } = next
    const bytes = answer.take()
    const found = bytes === undefined ? undefined : differencesIn(bytes, validate)
    this.onResult(about.route, found === undefined ? 'unchecked' : found.length === 0 ? 'fits' : 'differs')
    const [first] = found ?? []
    if (first !== undefined) this.#report(about, first)
  }

  /** Where it differs, and by which rule: nothing of its content. */
  #report(about: About, { param, rule }: Violation | Syntax): void {
    const now = performance.now()
    const difference = JSON.stringify([about.route, param, rule])
    const before = this.#logged.get(difference)
    if (before !== undefined && now - before < QUIET_MS) return
    if (this.#logged.size >= MAX_LOGGED) this.#logged.clear()
    this.#logged.set(difference, now)
    this.#notice({ ...about, param: param.slice(0, MAX_PATH_CHARS), rule }, 'an answer does not fit its schema')
  }
}

interface Syntax {
  readonly param: ''
  readonly rule: 'syntax'
}

function differencesIn(bytes: Buffer, validate: Waiting['validate']): readonly (Violation | Syntax)[] {
  const document = parseJson(bytes.toString('utf8'))
  return document === undefined ? [{ param: '', rule: 'syntax' }] : validate(document)
}
