import type { Traits } from '../core/codec.js'
import type { ProtocolConfig, VerbConfig } from '../core/config.js'
import type { Family } from '../core/errors.js'
import type { JsonObject } from '../core/json.js'
import type { Limits, RetryCondition, Timeouts } from '../core/limits.js'
import type { MembersConfig } from '../core/members.js'
import type { Params } from '../core/params.js'
import type { Answer, Framing, RouteBody, Tunnel } from '../core/route-settings.js'
import type { PollPace, TaskAction, TaskState } from '../core/task.js'
import type { TaskMember, TaskRecordForm } from '../core/task-kind.js'

/**
 * Files as they are written, after the schema has accepted them and before anything is resolved: sizes and durations
 * are still texts, variables are not filled in. The schemas in `schemas/` say the same, for editors and validators.
 */
export interface RawRoutesFile {
  readonly include?: readonly string[]
  readonly defaults?: RawDefaults
  readonly keys?: RawMap<RawKey>
  readonly kinds?: RawMap<RawKind>
  readonly upstreams?: RawMap<RawUpstream>
  readonly models?: RawMap<RawModel>
  readonly default_models?: RawMap<string>
  readonly protocols?: RawMap<RawProtocol>
  readonly objects?: RawMap<RawObject>
  readonly task_kinds?: RawMap<RawTaskKind>
  readonly routes?: RawMap<RawRoute | 'off'>
  readonly schemas?: RawMap<string | JsonObject>
}

export interface RawGateway extends RawRoutesFile {
  readonly version: 1
  readonly listen?: RawListen
  readonly limits?: RawLimits
  readonly timeouts?: RawTimeouts
  readonly retry?: RawRetry
  readonly store?: RawStore
  readonly spool?: RawSpool
  readonly log?: { readonly level?: string }
  readonly media?: { readonly fetch?: RawMediaFetch }
  readonly tasks?: { readonly lease?: string; readonly wait?: string }
  readonly webhooks?: RawWebhooks
  readonly interfaces?: readonly string[]
}

export type RawMap<T> = Readonly<Record<string, T>>
export type RawLimits = Partial<Readonly<Record<keyof Limits, string | number>>>
export type RawTimeouts = Partial<Readonly<Record<keyof Timeouts, string>>>
export type RawRetryCondition = RetryCondition | '4xx' | '5xx'
export type RawRetry = { readonly attempts?: number; readonly on?: readonly RawRetryCondition[] }

export interface RawSpool {
  readonly path?: string
  readonly body?: string | number
  readonly memory?: string | number
  readonly disk?: string | number
}

/** Which of these go with which type: `config/store.ts`. */
export interface RawStore {
  readonly type?: string
  readonly path?: string
  readonly url?: RawSecret
  readonly hosts?: readonly string[]
  readonly cluster?: boolean
  readonly sentinel?: string
  readonly sentinel_password?: RawSecret
  readonly user?: string
  readonly password?: RawSecret
  readonly database?: string | number
  readonly tls?: boolean | { readonly ca?: string }
  readonly prefix?: string
  readonly schema?: string
  readonly pool?: number
  readonly timeout?: string
  readonly wait?: string
  readonly options?: JsonObject
}

export interface RawMediaFetch {
  readonly allow: readonly string[]
  readonly http?: boolean
  readonly ports?: readonly number[]
  readonly max?: string | number
  readonly total?: string | number
  readonly count?: number
  readonly timeout?: string
  readonly redirects?: number
}

export interface RawWebhooks {
  readonly secret: RawSecret
  readonly allow?: readonly string[]
  readonly ports?: readonly number[]
  readonly timeout?: string
  readonly attempts?: number
}

export interface RawProtocol extends Omit<ProtocolConfig, 'task'> {
  readonly task?: RawTask
}

export type RawPointers = string | readonly string[]

export interface RawTask {
  readonly id?: RawPointers
  readonly state?: RawPointers
  readonly states?: RawMap<TaskState>
  readonly progress?: RawPointers
  readonly result?: RawPointers | RawMap<RawPointers>
  readonly error?: RawPointers | { readonly code?: RawPointers; readonly message?: RawPointers }
  readonly proof?: RawPointers
  readonly fields?: RawMap<RawPointers>
  readonly verdict?: RawTaskVerdict
  readonly poll?: { readonly at_once?: number } & Partial<Readonly<Record<Exclude<keyof PollPace, 'at_once'>, string>>>
  readonly deadline?: string
  readonly late?: string
  readonly stall?: string
  readonly keep?: string
  readonly inline?: string | number
}

/** A kind of tasks. */
export interface RawTaskKind {
  readonly title?: string
  readonly object?: string
  readonly record?: TaskRecordForm
  readonly members?: RawMap<RawTaskMember>
  readonly nulls?: boolean
  readonly parent?: string
  readonly content: RawMap<string | readonly string[]>
}

/** The member of the request, those that it may be, or a mapping. */
export type RawTaskMember =
  | string
  | readonly string[]
  | { readonly from: string | readonly string[]; readonly as?: NonNullable<TaskMember['as']> }

export interface RawTaskVerdict {
  readonly at: RawPointers
  readonly accepted: readonly (string | number)[]
  readonly busy?: readonly (string | number)[]
  readonly message?: RawPointers
}

export interface RawRouteTask extends RawTask {
  readonly kind: string
  readonly do?: TaskAction
  readonly of?: string
  readonly webhook?: string
  readonly pace?: string
  readonly not_ready?: number
  readonly label?: string
  readonly signed?: boolean
}

export interface RawListen {
  readonly host?: string
  /** A text where it is a variable. */
  readonly port?: number | string
  readonly backlog?: number
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly cors?: { readonly origins: readonly string[] }
  readonly trusted_proxies?: readonly string[]
}

export interface RawPlacement {
  readonly in: 'header' | 'query' | 'subprotocol'
  readonly name?: string
  readonly scheme?: string
  readonly prefix?: string
}

export interface RawDefaults {
  readonly caller?: RawPlacement | readonly RawPlacement[]
  readonly errors?: Family
  readonly prefixes?: RawMap<Params>
}

/** Exactly one of `env` and `file`. */
export interface RawSecret {
  readonly env?: string
  readonly file?: string
}

/** Exactly one of `env`, `file` and `hash`; `generate` beside `env` only. */
export interface RawKeySecret extends RawSecret {
  readonly hash?: string
  readonly generate?: boolean
}

export interface RawKey {
  readonly secret: RawKeySecret | readonly RawKeySecret[]
  readonly models?: readonly string[]
  readonly expires?: string
  readonly disabled?: boolean
  readonly strict?: boolean
}

export interface RawCredential {
  readonly in: 'header' | 'query'
  readonly name: string
  readonly scheme?: string
  readonly secret?: RawSecret
}

export interface RawKind {
  readonly description?: string
  readonly kind?: string
  readonly base?: string
  readonly credential?: RawCredential
  readonly secret?: RawSecret
  readonly headers?: RawMap<string>
  readonly members?: MembersConfig
  readonly forward?: {
    readonly request?: readonly string[]
    readonly response?: readonly string[]
    readonly trace?: boolean
  }
  readonly speaks?: RawMap<RawEndpoint>
  readonly tasks?: RawTask
  readonly timeouts?: RawTimeouts
  readonly retry?: RawRetry
  readonly request?: readonly VerbConfig[]
  readonly response?: readonly VerbConfig[]
  readonly traits?: Traits
}

export interface RawUpstream extends RawKind {
  readonly disabled?: boolean
  readonly former?: readonly RawSecret[]
  readonly resources?: { readonly unknown?: 'refuse' | 'pass' }
}

/** A call, `off`, or a mapping. */
export type RawEndpoint =
  | string
  | {
      readonly call: string
      readonly stream?: string
      readonly keeps?: boolean
      readonly request?: readonly VerbConfig[]
      readonly response?: readonly VerbConfig[]
      readonly forms?: 'json'
      readonly task?: RawTask
    }

export interface RawTarget {
  readonly upstream: string
  readonly as?: string
  readonly weight?: number
  readonly traits?: Traits
  readonly request?: readonly VerbConfig[]
  readonly response?: readonly VerbConfig[]
}

export interface RawModelSettings {
  readonly request?: readonly VerbConfig[]
  readonly response?: readonly VerbConfig[]
  readonly timeouts?: RawTimeouts
  readonly retry?: RawRetry
  readonly owner?: string
  readonly list?: readonly string[] | 'upstream'
  readonly created?: number
  readonly traits?: Traits
  readonly strict?: boolean
  readonly serves?: readonly string[]
}

export type RawModel =
  | string
  | readonly (string | RawTarget)[]
  | (RawModelSettings & RawTarget)
  | (RawModelSettings & { readonly targets: readonly (string | RawTarget)[] })

/** One framing, or one that a parameter of the query chooses. */
export type RawFraming =
  | Framing
  | { readonly default?: Framing; readonly parameter: string; readonly values: RawMap<Framing> }

/** A kind of things that upstreams keep for callers. */
export interface RawObject {
  readonly title?: string
  readonly id: string
  readonly prefix?: string
  readonly wrapped?: string
  readonly expires?: string
  readonly brings?: RawMap<string | readonly string[]>
  readonly links?: RawMap<string>
  readonly list: {
    readonly pages: 'ids' | 'cursors' | 'tokens'
    readonly member: string
    readonly usual?: number
    readonly most?: number
    readonly filter?: readonly string[]
  }
}

/** Where the model's name stands, where words may stand for models, or nothing may. */
export interface RawModelPointer {
  readonly from: string
  readonly values?: RawMap<string>
  readonly default?: string
}

export interface RawRoute extends RawDefaults {
  readonly families?: Partial<Readonly<Record<Family, string>>>
  readonly also?: { readonly path: string; readonly with?: readonly string[] }
  readonly protocol?: string
  readonly answer?: Answer
  readonly task?: RawRouteTask
  readonly model?: string | RawModelPointer
  readonly stream?: boolean | string
  readonly tunnel?: Tunnel
  readonly framing?: RawFraming
  readonly strict?: boolean
  readonly schema?: string
  readonly json?: string
  readonly request?: readonly VerbConfig[]
  readonly upstream?: string
  readonly timeouts?: RawTimeouts
  readonly retry?: RawRetry
  readonly limits?: RawLimits
  readonly body?: RouteBody
  readonly makes?: string
  readonly shows?: string
  readonly uses?: string
  readonly ends?: string
  readonly lists?: string
  readonly names?: RawMap<string | readonly string[]>
  readonly holder?: readonly string[]
  readonly every_model?: boolean
  readonly session?: { readonly header: string; readonly parameter: string }
  readonly batch?: { readonly of: string; readonly list: string; readonly request: string; readonly id: string }
  readonly results?: { readonly id: string; readonly model: string }
}
