import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Scope } from '../core/bounds.js'
import type { Config } from '../core/config.js'
import type { LogLevel } from '../core/log-config.js'
import type { Problem } from '../core/problems.js'
import type { CanaryStanding } from '../features/canaries/index.js'
import type { ConsoleService } from '../features/console/service.js'
import type { ShownHealth } from '../features/health/shown.js'
import type { StoredHolder } from '../features/keys/callers.js'
import type { StoredKey } from '../features/keys/record.js'
import type { ShownLimit } from '../features/limits/usage.js'
import type { MetricsText } from '../features/metrics/index.js'
import type { MirrorStanding } from '../features/mirrors/index.js'
import type { TailFilter } from '../features/tail/filter.js'
import type { Reader } from '../features/tail/reader.js'
import type { Task } from '../features/tasks/record.js'
import type { Kernel } from '../kernel/kernel.js'
import type { CompiledPlan } from '../plan/compile.js'
import type { LogState } from '../sinks/log.js'

/** The gateway as the admin API sees it. */
export interface AdminHost {
  readonly kernel: Kernel
  /** Those that serve new requests. */
  readonly plan: CompiledPlan
  readonly config: Config
  /** What a key of the store is here; undefined where its terms do not fit. */
  holderOf(key: StoredKey): StoredHolder | undefined
  /** What is wrong with the terms of a key, by the rules of the file. */
  faultsOf(name: string, terms: Readonly<Record<string, unknown>>): readonly string[]
  /** What of terms that fit has no effect, or less than they say. */
  warningsOf(name: string, terms: Readonly<Record<string, unknown>>): readonly string[]
  /** Reads the files again. Problems with an error: nothing has changed. */
  reload(): Promise<{ readonly isValid: boolean; readonly problems: readonly Problem[] }>
  /** What served before, and serves now, the newest first. */
  history(): Promise<readonly PastGeneration[]>
  /** Serves an older generation again, as {@link reload}. Undefined: it is no longer known. */
  rollback(number: number): Promise<Awaited<ReturnType<AdminHost['reload']>> | undefined>
  /** The log of this process; another level is for all workers. */
  readonly log: { readonly state: LogState; level(level: LogLevel): Promise<void> }
  /** Finishes what is open and ends the process. */
  drain(): void
  /** Replaces the workers one after another. Absent: this process is the only one. */
  restart?(): void
  /** For each scope, its bounds and how much of them is used. Rejects with the store's error. */
  limits(scopes: readonly Scope[]): Promise<readonly (readonly ShownLimit[])[]>
  /** By the names of upstreams, what of them rests because it fails. */
  health(): ReadonlyMap<string, ShownHealth>
  /** What the mirrors and canaries of models have come to in this process. */
  routing(): { readonly mirrors: readonly MirrorStanding[]; readonly canaries: readonly CanaryStanding[] }
  /** What it counts and times, in the format that an `accept` header asks for. Throws {@link AdminError} where nothing is measured. */
  metrics(accept: string | undefined): Promise<MetricsText>
  /** Lines of requests from now on; undefined where too many read them. */
  tail(filter: TailFilter): Reader | undefined
  /** What the console shows of requests. Throws {@link AdminError} where nothing is watched. */
  watched(): Pick<ConsoleService, 'live' | 'series' | 'requests' | 'request' | 'faults' | 'uses'>
  /** Serves a WebSocket as if a client had opened it at the gateway's own listener. */
  openSocket(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** The faults that the simulator knows, and what is wrong with a text of them. */
  readonly simulator: {
    faults(): Promise<readonly SimulatorFault[]>
    problem(faults: string): Promise<string | undefined>
  }
  /** The configuration file, drafts of it, and its former texts. */
  readonly draft: {
    file(): Promise<{ readonly file: string; readonly text: string; readonly masked: boolean; readonly digest: string }>
    /** `isWhole`: lines that are not shown are taken from the file. */
    check(text: string, isWhole: boolean): Promise<CheckedDraft>
    /** Writes and reloads, or leaves all as it was. Undefined: the file is another one by now. */
    apply(text: string, digest: string): Promise<CheckedDraft | undefined>
    back(generation: number, digest: string): Promise<CheckedDraft | undefined>
    /** The text that served at a generation. */
    version(generation: number): Promise<object | undefined>
  }
  /** Tasks behind a cursor, at most so many; undefined where the text is not a cursor. */
  tasks(filter: TaskQuery, limit: number, after: string | undefined): Promise<Page<Task> | undefined>
}

/** A fault that the simulator can play. */
interface SimulatorFault {
  readonly name: string
  /** How its value is written. */
  readonly value: string
  readonly description: string
  /** When it strikes: in every request, or in those that `times` and `failure-rate` choose. */
  readonly strikes: 'always' | 'chosen'
}

/** A generation of the configuration. */
export interface PastGeneration {
  readonly number: number
  readonly digest: string
  /** When it began to serve, milliseconds since the epoch. */
  readonly at: number
  readonly origin: 'start' | 'files' | 'reload' | 'console' | 'rollback'
  /** The names that it added, removed and changed. */
  readonly changes: object
  /** Whether it can serve again. */
  readonly returnable: boolean
  /** How it got a share of the requests at first; absent: it took over at once. */
  readonly canary?: ReloadCanaryStanding
  /** What changes for callers; absent: it is not known yet, or it is the first one. */
  readonly difference?: ShownDifference
}

/** What became of a generation that got a share of each key's requests. */
export interface ReloadCanaryStanding {
  /** `whole`: it took over. `replaced`: another one came before that. */
  readonly state: 'running' | 'whole' | 'back' | 'replaced'
  readonly share: number
  /** When it takes over unless it goes back, milliseconds since the epoch. */
  readonly until: number
  /** Why it is as it is. */
  readonly reason?: string
  readonly new: CanaryCounts
  readonly old: CanaryCounts
}

interface CanaryCounts {
  readonly requests: number
  readonly failures: number
  /** Milliseconds. */
  readonly ttft_p95?: number
}

/** What a reload means, in short. */
export interface ShownDifference {
  /** Why it was not compared. */
  readonly skipped?: string
  /** How many changes, and of them those that allow more, lose more, or leave something without an upstream. */
  readonly changes?: number
  readonly weaker?: number
  readonly loss?: number
  readonly unreachable?: number
  /** The first of them, a line each: those with a mark first. */
  readonly lines?: readonly string[]
}

/** What a draft of the file would do, or has done. */
export interface CheckedDraft {
  readonly isValid: boolean
  readonly problems: readonly Problem[]
  readonly changes: object
  /** What that means for callers. Absent: nothing changes, or it has errors. */
  readonly difference?: ShownDifference
}

/** Which tasks to list; absent members do not restrict the list. */
interface TaskQuery {
  readonly id?: string
  readonly order?: string
  readonly kind?: string
  readonly owner?: string
  readonly state?: string
  readonly model?: string
  readonly upstream?: string
}

export interface Page<T> {
  readonly data: readonly T[]
  /** `after` of the next page; absent: this is the last one. */
  readonly next?: string | undefined
}
