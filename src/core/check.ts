import type { ModuleOptions, ModuleTools, UserModule } from './user-module.js'
import type { When } from './when.js'

/** A check of requests by a module of the user's own. */
export interface CheckConfig extends UserModule {
  readonly name: string
  /** Globs over `METHOD /path`; absent: every route. */
  readonly routes?: readonly string[]
  /** Globs over the names that requests ask for; absent: every model, and requests without one. */
  readonly models?: readonly string[]
  readonly when?: When
  /** Longest time for an answer, milliseconds. */
  readonly timeout: number
  readonly when_it_fails: 'open' | 'closed'
}

/** A request as a check sees it. */
export interface CheckedRequest {
  /** The id of the request, as in the log. */
  readonly id: string
  readonly caller: CheckedCaller
  /** The route: `POST /v1/chat/completions`. */
  readonly route: string
  /** The protocol of the route, such as `chat`, `messages` or `embeddings`; empty where it has none. */
  readonly operation: string
  /** The name that the request asks for; empty where it names none. */
  readonly model: string
  /** Whether it asks for a stream. */
  readonly stream: boolean
  /** By lower-case names. Those that may carry a secret are left out. */
  readonly headers: Readonly<Record<string, string>>
  /** Aborted when the time of the check is over, and when the client has gone. */
  readonly signal: AbortSignal
  /**
   * The body: parsed JSON, or the text fields of a form; undefined where there is none, or where it is passed on unread. Parsed
   * when it is first asked for. What was put into its conversation since the last turn comes first in `input`. Read it, do not
   * change it.
   */
  body(): Promise<unknown>
}

export interface CheckedCaller {
  /** The name of the key, or of the holder of a token: `PROVIDER:NAME`. */
  readonly name: string
  /** Groups of the caller, from the inside out. */
  readonly groups: readonly string[]
  /** Of a caller with a token or a certificate: who issued it, and what it claims. */
  readonly identity?: { readonly provider: string; readonly claims: Readonly<Record<string, unknown>> }
}

/** What a check says of a request. */
export type Verdict = 'pass' | Refused

interface Refused {
  /** The reason, as the client reads it: one line of 1 to 500 characters. */
  readonly refuse: string
  /** From 400 to 499, but for 401, 407, 408 and 499; 403 where it is absent. */
  readonly status?: number
}

/** A check of the user's own. */
export interface Check {
  /** Anything but a {@link Verdict} is a failure, as is an error: `when_it_fails` decides then. */
  check(request: CheckedRequest): Verdict | Promise<Verdict>
  /** No request asks this check any more. */
  close?(): void | Promise<void>
}

/** The export `openCheck` of a module: called once, and again with other options or another text of the module. */
export type OpenCheck = (options: ModuleOptions, tools: ModuleTools) => Check | Promise<Check>

const DEFAULT_STATUS = 403
const LEAST_STATUS = 400
const MOST_STATUS = 499
/** They say something of the gateway's own. */
const OWN_STATUSES: ReadonlySet<number> = new Set([401, 407, 408, 499])
const MAX_REASON_CHARS = 500
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it looks for.
const CONTROLS = /[\u0000-\u001f\u007f]/

/** What a check said; undefined where that is not a verdict. */
export function readVerdict(said: unknown): 'pass' | Required<Refused> | undefined {
  if (said === 'pass') return said
  if (typeof said !== 'object' || said === null) return undefined
  const { refuse, status = DEFAULT_STATUS } = said as Partial<Record<keyof Refused, unknown>>
  if (typeof refuse !== 'string' || refuse === '' || refuse.length > MAX_REASON_CHARS || CONTROLS.test(refuse)) {
    return undefined
  }
  return isStatus(status) ? { refuse, status } : undefined
}

function isStatus(status: unknown): status is number {
  const isWithin = Number.isInteger(status) && Number(status) >= LEAST_STATUS && Number(status) <= MOST_STATUS
  return isWithin && !OWN_STATUSES.has(Number(status))
}

/** Whether something is a check. */
export function isCheck(opened: unknown): opened is Check {
  return typeof opened === 'object' && opened !== null && typeof Reflect.get(opened, 'check') === 'function'
}
