import { topic } from '../../core/peers.js'
import type { Problem } from '../../core/problems.js'
import type { Held } from '../../core/secret-managers.js'
import type { MeasuredPair } from '../../features/generations/measured.js'
import type { LogState } from '../../sinks/log.js'
import type { SimulatorPlace } from '../embedded.js'
import type { CommonHealth } from '../health.js'
import type { History, PastDocument } from '../history.js'
import type { LoadOptions, Overrides } from '../load.js'
import type { Asker } from '../plan-source.js'
import type { Entries } from '../reading/messages.js'

/** A new process receives messages from now on; what was sent before is lost. */
export const HELLO = topic<null>('hello')

/** The supervisor asks a worker to take over some entries of a configuration. */
export const ENTRIES = topic<Entries>('config: entries')

/** All entries have come: the worker compiles, and answers when it could serve, or with what is wrong. */
export const PREPARE = topic<Preparation, { readonly fault?: string }>('config: prepare')

/** What it has prepared under that number gets a share of the requests, goes live, or is given up. */
export const TRY = topic<{ readonly number: number; readonly share: number }>('config: try')
export const COMMIT = topic<{ readonly number: number }>('config: commit')
export const DROP = topic<{ readonly number: number }>('config: drop')

/** What the requests of the plan that is tried, and of the one that serves, have come to in a worker. */
export const MEASURED = topic<null, MeasuredPair>('config: measured')

/** A new worker opens the store and listens, with what it has prepared. */
export const START = topic<StartOrder, Started>('start')

/** What the workers have in common has changed. */
export const HEALTH = topic<CommonHealth>('health')

/** The worker finishes what is open and ends; or it ends at once. */
export const END = topic<{ readonly isUrgent: boolean }>('end')

/** A worker asks the supervisor for a reload in all workers. `counted`: keys of the store have limits. */
export const RELOAD = topic<{ readonly counted: boolean; readonly by?: Asker }, ReloadOutcome>('reload')

/** Keys of the store have limits from now on, for what a worker reads of files itself. */
export const COUNTED = topic<null>('counted')

/** A worker asks the supervisor which generations there were, what the file said then, and to return to one in all workers. */
export const HISTORY = topic<null, ReturnType<History['list']>>('history')
/** A file of a generation, by its place among them: all together may be larger than a message. */
export const PAST_DOCUMENT = topic<{ readonly number: number; readonly at: number }, PastDocument | null>(
  'past document',
)
export const ROLLBACK = topic<{ readonly number: number }, ReloadOutcome | null>('rollback')

/** A worker asks the supervisor what is known of secrets in managers. */
export const HELD = topic<null, ReadonlyMap<string, Held>>('held secrets')

/** An upstream has refused a credential. */
export const REREAD = topic<string | null>('reread secrets')

/** The admin API asks for new workers, one after another. */
export const RESTART = topic<null>('restart')

/** The admin API asks for the end of the gateway. */
export const DRAIN = topic<null>('drain')

interface Preparation {
  /** A parcel. */
  readonly settings: unknown
  readonly digest: string
  readonly generation: number
  readonly simulator: SimulatorPlace | undefined
}

export interface StartOrder {
  readonly number: number
  readonly file: string
  /** Of the supervisor: those of `--env-file`, too, which the process has not. */
  readonly env: LoadOptions['env']
  readonly overrides: Overrides
  readonly health: CommonHealth
  readonly log: LogState
}

export interface Started {
  /** Why it cannot start, in one line. */
  readonly fault?: string
  readonly origin?: string
  readonly adminOrigin?: string | undefined
}

export interface ReloadOutcome {
  readonly isValid: boolean
  readonly problems: readonly Problem[]
}

/** How long a worker may take to compile a configuration; all others wait for it. */
export const PREPARE_TIMEOUT_MS = 120_000
/** How long anything else may take that a worker is asked for. */
export const STEP_TIMEOUT_MS = 30_000
