import type { AccountingConfig, CallerRules, GroupConfig, PricesConfig } from './accounting-config.js'
import type { AmountsConfig } from './amounts.js'
import type { ScopeLimits, Tariff } from './bounds.js'
import type { CheckConfig } from './check.js'
import type { Traits } from './codec.js'
import type { CredentialSource } from './credential-source.js'
import type { EgressConfig } from './egress.js'
import type { Family } from './errors.js'
import type { Exposed } from './exposed.js'
import type { FailureRules } from './failure-cause.js'
import type { FeatureSettings } from './feature-settings.generated.js'
import type { HealthRule, HealthSettings } from './health.js'
import type { IdentityConfig } from './identity.js'
import type { Json, JsonObject } from './json.js'
import type { Hedge, Limits, Retry, StreamContract, Timeouts } from './limits.js'
import type { LogConfig } from './log-config.js'
import type { MediaConfig } from './media.js'
import type { MembersConfig } from './members.js'
import type { Params } from './params.js'
import type { Placement } from './placement.js'
import type { OverloadConfig } from './priority.js'
import type { AdminConfig, KeySecret, ListenConfig, SpoolConfig, TasksConfig, WebhookConfig } from './process-config.js'
import type { RateLimitsConfig } from './rate-limits-config.js'
import type { CaptureConfig, ReceiptsConfig } from './receipts.js'
import type { RecordConfig, RecordingsConfig } from './recording.js'
import type { ReloadConfig } from './reload.js'
import type { BatchRule, ModelHint, ResourceAction, ResourceList, ResumableUpload } from './resources.js'
import type { ResponseCheck } from './response-check.js'
import type {
  Answer,
  FamilyMark,
  ModelPointer,
  Pointer,
  RouteBody,
  RouteFraming,
  RouteLimit,
  StreamPointer,
  Tunnel,
} from './route-settings.js'
import type { Secret } from './secret.js'
import type { ManagedConfig } from './secret-managers.js'
import type { AnswerFormat, BodyFormat, FormsAs } from './shape.js'
import type { StoreConfig } from './store-config.js'
import type { RoutingConfig } from './strategy.js'
import type { TaskRouteConfig, TaskShapeConfig } from './task.js'
import type { TaskKindConfig } from './task-kind.js'
import type { TelemetryConfig, TraceContentConfig } from './telemetry.js'
import type { When } from './when.js'

/**
 * A checked configuration: all files read, shipped routes and kinds merged in, variables and secrets resolved, every
 * reference known to hold. `config/load` makes it, `plan/compile` reads it, nothing else does.
 */
export interface Config {
  readonly listen: ListenConfig
  readonly limits: Limits
  readonly timeouts: Timeouts
  readonly retry: Retry
  readonly health: HealthRule & HealthSettings
  readonly store: StoreConfig
  readonly spool: SpoolConfig
  readonly log: LogConfig
  /** What single features read themselves. */
  readonly features: FeatureSettings
  readonly transport: TransportName
  /** Absent: nothing is shed. */
  readonly overload?: OverloadConfig
  /** Absent: a changed file takes over at once, and nothing older is kept. */
  readonly reload?: ReloadConfig
  /** Processes that serve. */
  readonly workers: number
  readonly media: MediaConfig
  readonly tasks: TasksConfig
  /** Absent: no notifications of tasks. */
  readonly webhooks?: WebhookConfig
  /** Absent: no admin listener. */
  readonly admin?: AdminConfig
  /** Absent: none are written. */
  readonly receipts?: ReceiptsConfig
  /** Absent: nothing is recorded. */
  readonly record?: RecordConfig
  /** Checks by modules of the user's own, in the order in which they are asked. */
  readonly checks: readonly CheckConfig[]
  /** Absent: nothing is sent to a collector. */
  readonly telemetry?: TelemetryConfig
  /** How connections leave that belong to no upstream; upstreams have their own. */
  readonly egress?: EgressConfig
  /** Absent: no secret is in a manager. */
  readonly managed?: ManagedConfig
  /** Absent: no word of limits, prices and groups is in the files, and nothing is counted. */
  readonly accounting?: AccountingConfig
  /** Groups of keys, by name; none of them is in a circle. */
  readonly groups: Readonly<Record<string, GroupConfig>>
  readonly keys: Readonly<Record<string, KeyConfig>>
  /** Absent: callers have keys alone. */
  readonly identity?: IdentityConfig
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>
  /** In the order in which they were written: globs are tried in this order. */
  readonly models: Readonly<Record<string, ModelConfig>>
  readonly protocols: Readonly<Record<string, ProtocolConfig>>
  /** Kinds of resources that upstreams keep for callers, by name. */
  readonly resource_kinds: Readonly<Record<string, ResourceKindConfig>>
  /** Kinds of task results, by name. */
  readonly task_kinds: Readonly<Record<string, TaskKindConfig>>
  /** Keyed `METHOD /path/{param}`; shipped routes that the user switched off are gone. */
  readonly routes: Readonly<Record<string, RouteConfig>>
  /** What answers of routes must be like, by the route. */
  readonly response_schemas: Readonly<Record<string, ResponseCheck>>
  /** Schemas by name, those that routes and `response_schemas` refer to. Draft-07. */
  readonly schemas: Readonly<Record<string, JsonObject>>
}

/** Who serves clients and sends requests to upstreams: mostly the gateway's own code, or `node:http` and a library alone. */
export type TransportName = 'fast' | 'node'

export interface KeyConfig extends CallerRules {
  /** What the caller may present; none when every one of them is absent. Plain values and digests may be mixed. */
  readonly secrets: readonly KeySecret[]
  /** Globs over model names; `*` alone is every model. */
  readonly models: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expires?: number
  readonly disabled: boolean
  /** Whether nothing of this caller's requests may be left out in translation. */
  readonly strict: boolean
  /** Absent: as the file has it. */
  readonly expose?: readonly Exposed[]
  /** `pin`: its requests may name a generation that is kept. */
  readonly generations?: 'pin'
  /** Absent: nothing of what it sends and gets is kept. */
  readonly capture?: CaptureConfig
  /** Absent: spans of its requests hold nothing of their content. */
  readonly trace?: TraceContentConfig
  /** Why no secret is present (`KEY_OPS is not set`), for the table that `serve` prints. */
  readonly absent?: string
}

/** An upstream with its kind (and that kind's kinds) merged in. */
export interface UpstreamConfig {
  /** The kind as written, for tables. */
  readonly kind?: string
  /** `https://host[:port][/prefix]` without a trailing slash, `embedded:simulator` or `embedded:recordings`. */
  readonly base: string
  readonly credential?: CredentialConfig
  /** Secrets that it had before: tasks that were begun with one of them are followed with that. */
  /** Those that take turns with the secret of {@link credential}. */
  readonly otherSecrets?: readonly Secret[]
  readonly previousSecrets: readonly Secret[]
  /** Why this upstream is switched off (`NORTH_API_KEY is not set`, `disabled`); absent when it is on. */
  readonly off?: string
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  /** What becomes of members of requests here, instead of what their protocol declares. */
  readonly members?: MembersConfig
  /** Further header names (globs, lower case) that pass in each direction. */
  readonly forward: {
    readonly request: readonly string[]
    readonly response: readonly string[]
    /** Whether the headers of a trace pass to it. */
    readonly trace: boolean
  }
  readonly speaks: Readonly<Record<string, EndpointConfig>>
  /** How its tasks are followed: those of its kinds first. */
  readonly tasks: readonly TaskShapeConfig[]
  readonly timeouts: Partial<Timeouts>
  readonly retry: Partial<Retry>
  readonly health?: HealthSettings
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  readonly traits: Traits
  /** Whether ids of resources that belong to no key go to it. */
  readonly passesUnknown: boolean
  readonly limits?: ScopeLimits
  readonly onClientAbort?: Tariff['onClientAbort']
  /** By its own names for models; its kinds' are among them. */
  readonly prices?: PricesConfig
  /** Absent: connections leave as the system has it. */
  readonly egress?: EgressConfig
  readonly region?: string
  /** They answer in its place. */
  readonly recordings?: RecordingsConfig
}

export interface CredentialConfig {
  /** Of the secret, or of the token of `source`. */
  readonly place: Placement
  /** Absent where the upstream is off, or asks for none. */
  readonly secret?: Secret
  /** Basic authentication: the secret is this user's password. */
  readonly user?: string
  /** Further headers of the credential, by name in lower case. */
  readonly headers?: Readonly<Record<string, string | Secret>>
  /** How a credential that changes is got. */
  readonly source?: CredentialSource
}

export interface EndpointConfig {
  /** `POST /v1/messages`; the path may hold `{model}` and the route's own parameters. */
  readonly call: CallConfig
  /** A different call for streams. */
  readonly stream?: CallConfig
  /** False where the protocol is stateful and the upstream keeps nothing of it. Absent: true. */
  readonly stateful?: false
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  /** Forms are sent to it as JSON objects. */
  readonly forms?: FormsAs
  /** JSON is sent to it in this format. */
  readonly sends?: BodyFormat
  /** Its answers reach clients in this format. */
  readonly answers?: AnswerFormat
  /** Where its answers say what of tasks. */
  readonly task?: TaskShapeConfig
}

export interface CallConfig {
  readonly method: string
  /** Path with an optional query, as written. */
  readonly target: string
}

/** One transform step: exactly one verb and its arguments, as written. Checked by the schema. */
export type VerbConfig = Readonly<Record<string, Json>>

export interface ModelConfig extends RoutingConfig {
  /** In order of preference. */
  readonly targets: readonly TargetConfig[]
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  readonly timeouts: Partial<Timeouts>
  readonly retry: Partial<Retry>
  readonly health?: HealthSettings
  readonly stream?: StreamContract
  readonly hedge?: Hedge
  /** `owned_by` of the models list. */
  readonly owner?: string
  /** Names that a glob is listed by; `upstream`: those that its upstreams tell. */
  readonly list?: readonly string[] | 'upstream'
  /** Seconds since the epoch: `created` of the models list. */
  readonly created?: number
  readonly traits: Traits
  /** Whether a request that cannot be translated whole is refused. */
  readonly strict: boolean
  /** The only protocols, or families of them, by which it is served; absent: all that its upstreams speak. */
  readonly protocols?: readonly string[]
  readonly limits?: ScopeLimits
  /** Most tokens of one answer. */
  readonly maxOutput?: number
  readonly onClientAbort?: Tariff['onClientAbort']
}

export interface TargetConfig {
  readonly upstream: string
  /** The upstream's name for the model; a `*` takes what the first `*` of the model's own glob matched. */
  readonly as?: string
  /** Neighbours that carry weights are chosen among in proportion; without one, order alone decides. */
  readonly weight?: number
  /** Absent: it is for every request. */
  readonly when?: When
  readonly traits: Traits
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
}

/** What the relay must know of a protocol, as data: how its streams end and where usage is. */
export interface ProtocolConfig {
  /** How a complete stream ends. Absent: with the transfer. */
  readonly end?: {
    readonly data?: string
    readonly events?: readonly string[]
    readonly members?: readonly string[]
    readonly repeats?: boolean
  }
  /** Whole answers are bytes, regardless of their type, unless it says JSON; or JSON (false), as they are where usage is reported. */
  readonly binary?: boolean
  /** Format of an error inside a stream: the family's, or the typed events of stateful responses. */
  readonly stream_error?: 'family' | 'responses'
  /** Where usage is, in dotted paths from the top of the JSON answer or event. */
  readonly usage?: UsageConfig
  /** Where requests say how much they ask for, in dotted paths. */
  readonly amounts?: AmountsConfig
  /** What becomes of members of requests that name models, or say where the request goes. */
  readonly members?: MembersConfig
  /** Where answers hold vectors, and which member of requests says how these are written. */
  readonly vectors?: { readonly at: string; readonly format: string }
  /**
   * What a tunnel reads of the messages that pass: dotted paths of models' names, and types of messages with usage; and
   * whether it tells its own errors in an event.
   */
  readonly messages?: {
    readonly model?: readonly string[]
    readonly counted?: readonly string[]
    readonly error_event?: boolean
  }
  /** Subprotocols that a tunnel offers upstream (globs), and those that it answers. */
  readonly subprotocols?: { readonly pass?: readonly string[]; readonly answer?: readonly string[] }
  readonly rate_limits?: RateLimitsConfig
  /** Status and code of "no such model" where the protocol has its own (responses: 400, param `model`). */
  readonly unknown_model?: { readonly status: number; readonly param?: string; readonly message?: string }
  /** Where answers say what of tasks. */
  readonly task?: TaskShapeConfig
  /** How errors tell why a request failed. */
  readonly failures?: FailureRules
}

/** Dotted paths: those of input are added up, as are those of output; of others the first with a number counts. */
export type UsageConfig = Readonly<
  Partial<
    Record<
      | 'input'
      | 'output'
      | 'total'
      | 'cached'
      | 'cache_write'
      | 'reasoning'
      | 'input_audio'
      | 'output_audio'
      | 'seconds'
      | 'searches',
      string | readonly string[]
    >
  >
>

/** A kind of resources that upstreams keep for callers. Paths are dotted. */
export interface ResourceKindConfig {
  /** How errors call such a resource; by default the name of the kind. */
  readonly title?: string
  readonly id: string
  readonly prefix?: string
  readonly wrapped?: string
  readonly expires?: string
  /** By kind: where the object names resources that are created with it. */
  readonly produces?: Readonly<Record<string, readonly string[]>>
  /** By path of a member that holds an address at the upstream: the path here in its place. */
  readonly links?: Readonly<Record<string, string>>
  readonly list: ResourceList
}

export interface RouteConfig {
  /** Placements in which the caller's key is looked for, in order. */
  readonly caller: readonly Placement[]
  readonly errors: Family
  readonly families: readonly FamilyMark[]
  /** Further first segments of the path, each with values for upstreams' calls. */
  readonly prefixes?: Readonly<Record<string, Params>>
  /** Another path of the same route. */
  readonly also?: AlsoConfig
  readonly protocol?: string
  /** `answer` routes are answered by the gateway itself. */
  readonly answer?: Answer
  /** What the route does with tasks. */
  readonly task?: TaskRouteConfig
  /** Where the model's name is: `body.model`, `form.model`, `path.model`, `query.model`. */
  readonly model?: ModelPointer
  readonly stream: 'never' | 'always' | StreamPointer
  readonly framing: RouteFraming
  /** How a WebSocket is passed through; absent where it is not. */
  readonly tunnel?: Tunnel
  readonly strict: boolean
  /** Name of a request schema. */
  readonly schema?: string
  /** Name of the schema of bodies that are JSON instead of a form. Absent: there are none. */
  readonly json?: string
  /** Changes to the request before those of the upstream. */
  readonly request?: readonly VerbConfig[]
  /** A fixed upstream, for routes without a model. */
  readonly upstream?: string
  readonly timeouts: Partial<Timeouts>
  readonly retry: Partial<Retry>
  /** Overrides of the sizes that may differ per route. */
  readonly limits: Partial<Pick<Limits, RouteLimit>>
  /** What the route does with resources that upstreams keep. */
  readonly resource?: { readonly action: ResourceAction; readonly kind: string; readonly parameter?: string }
  /** By kind of resource: paths of their ids in the body. */
  readonly references: Readonly<Record<string, readonly string[]>>
  readonly modelHints: readonly ModelHint[]
  readonly resumableUpload?: ResumableUpload
  /** The requests that one request contains. */
  readonly batch?: BatchRule
  /** Where lines of results name requests and models; dotted paths. */
  readonly results?: { readonly id: string; readonly model: string }
  /** Whether only keys with every model may. */
  readonly requiresAllModels: boolean
  readonly body: RouteBody
  /** Whether the gateway ships the route (for tables). */
  readonly shipped: boolean
}

export interface AlsoConfig {
  readonly path: string
  /** Lower-case names: the path is this route's for requests with one of these headers. Empty: for all. */
  readonly with: readonly string[]
}

export type PointerConfig = Pointer
