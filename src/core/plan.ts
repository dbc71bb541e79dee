import type { AmountPaths } from './amounts.js'
import type { Accounting, Scope, ScopeType, Tariff } from './bounds.js'
import type { Caller, KeyRing } from './caller.js'
import type { Codec, Traits } from './codec.js'
import type { Config } from './config.js'
import type { PlacedSource } from './credential-source.js'
import type { EgressConfig } from './egress.js'
import type { Family } from './errors.js'
import type { Exposed } from './exposed.js'
import type { HealthRule } from './health.js'
import type { IdentityConfig } from './identity.js'
import type { JsonObject } from './json.js'
import type { Limits, Retry, Timeouts } from './limits.js'
import type { LogConfig } from './log-config.js'
import type { MediaConfig } from './media.js'
import type { RouteMembers } from './members.js'
import type { MessageRules, Subprotocols } from './message-rules.js'
import type { ModelEntry } from './model-entry.js'
import type { Params } from './params.js'
import type { Placement } from './placement.js'
import type { AdminPlan, ListenConfig, SpoolConfig, TasksConfig, WebhookConfig } from './process-config.js'
import type { RateLimitReset, RateLimits } from './rate-limits.js'
import type { RateLimitsConfig } from './rate-limits-config.js'
import type { RecordingsConfig } from './recording.js'
import type { BatchRule, ModelHint, ResourceReference, ResourceRule, ResultRule, ResumableUpload } from './resources.js'
import type {
  Answer,
  FamilyMark,
  ModelPointer,
  Pointer,
  RouteBody,
  RouteFraming,
  RouteLimit,
  Tunnel,
} from './route-settings.js'
import type { Secret } from './secret.js'
import type { AnswerFormat, ExchangeChanges, FormsAs } from './shape.js'
import type { StoreConfig } from './store-config.js'
import type { Canary, ExchangeRouting, Mirror, Routing } from './strategy.js'
import type { SwitchedOff } from './switched-off.js'
import type { TaskAction, TaskCallName, TaskShape } from './task.js'
import type { TaskKind } from './task-kind.js'
import type { TelemetryConfig } from './telemetry.js'
import type { TextUsage } from './text.js'
import type { Transform } from './transform.js'
import type { Call, CheapestCall, UpstreamProbe } from './upstream-call.js'
import type { VectorRule } from './vectors.js'
import type { Violation } from './violation.js'

/** What the kernel reads: immutable, built once per generation of the configuration, never edited. */
export interface Plan extends Pick<Config, 'workers' | 'reload' | 'receipts' | 'record' | 'checks'> {
  /** sha256 of every source (files, secret files, variables), hex: same digest, nothing to reload. */
  readonly digest: string
  readonly listen: ListenConfig
  readonly limits: Limits
  readonly store: StoreConfig
  readonly spool: SpoolConfig
  readonly log: LogConfig
  readonly features: Config['features']
  /** What some caller's answers may say: of the file or a key of it, and everything where the store may have keys. */
  readonly exposing: readonly Exposed[]
  readonly transport: Config['transport']
  readonly overload: Config['overload']
  readonly media: MediaConfig
  readonly tasks: TasksConfig
  readonly webhooks: WebhookConfig | undefined
  /** Whether some target is asked last while it fails. */
  readonly learnsHealth: boolean
  /** How connections leave that belong to no upstream. */
  readonly egress: EgressConfig | undefined
  /** Whether some upstream has a region; if none has, no key has. */
  readonly hasRegions: boolean
  /** Absent: no admin listener. */
  readonly admin: AdminPlan | undefined
  /** Absent: nothing is sent to a collector. */
  readonly telemetry: TelemetryConfig | undefined
  /** Absent: nothing is limited and nothing is counted. */
  readonly accounting: Accounting | undefined
  readonly keys: KeyRing
  /** Absent: callers have keys alone. */
  readonly identity: IdentityConfig | undefined
  readonly models: ModelTable
  readonly off: SwitchedOff
  readonly routes: readonly Route[]
  readonly upstreams: ReadonlyMap<string, Upstream>
  /** Whether some model says how its targets are chosen. */
  readonly hasRouting: boolean
  /** Whether a model has `hedge`. */
  readonly hasHedges: boolean
  readonly mirrors: readonly Mirror[]
  readonly canaries: readonly Canary[]
  /** Kinds of task results, by name. */
  readonly taskKinds: ReadonlyMap<string, TaskKind>
  /** `path`: still encoded, without the query. Some are other routes' for requests with certain headers, by lower-case name. */
  match(method: string, path: string, headers?: Shown): Match | Miss
  /** The bounds that a holder of the files has; undefined: none, or it is a key of the store. */
  scopeOf(type: ScopeType, name: string): Scope | undefined
}

/** What requests show by their headers, by lower-case names. */
export type Shown = Readonly<Record<string, unknown>>

export interface Match {
  readonly route: Route
  /** Decoded path parameters; no others than those of the route. */
  readonly params: Params
}

/** A path that no one owns (404), or an owned one with another method (405), which may be a WebSocket's (426). */
export interface Miss {
  readonly route: undefined
  readonly status: 400 | 404 | 405 | 426
  readonly allow: readonly string[]
  /** Where to look for the key, and in which family to answer, though no route matched. */
  readonly caller: readonly Placement[]
  readonly errors: Family
  /** Families of clients that show themselves as such. */
  readonly families: readonly FamilyMark[]
  /** The path that was probably meant, where the client's base address is too short or too long. */
  readonly instead?: string
}

export interface Route {
  /** `POST /v1/chat/completions`, the key in YAML. The method `WS` stands for WebSockets. */
  readonly id: string
  readonly method: string
  /** `exchange`: an upstream answers. `answer`: the gateway does. `task`: a task's record does, of which `submit` asks an upstream. */
  readonly lane: 'exchange' | 'answer' | 'task'
  readonly answer: Answer | undefined
  /** Of the lane `task`. */
  readonly task: TaskRoute | undefined
  readonly caller: readonly Placement[]
  readonly errors: Family
  readonly families: readonly FamilyMark[]
  readonly protocol: Protocol | undefined
  readonly model: ModelPointer | undefined
  readonly stream: 'never' | 'always' | Pointer
  readonly framing: RouteFraming
  /** How a WebSocket is passed through: every byte unchanged, or message by message. Absent where it is not. */
  readonly tunnel: Tunnel | undefined
  readonly body: RouteBody
  /** Top-level members of the body, or fields of the form, that decide what happens (model, stream): they must occur only once. */
  readonly control: readonly string[]
  /** What becomes of members that name models, or say where a request goes, beside the model itself. */
  readonly members: RouteMembers
  /** Empty: the document fits. Absent: nothing is declared. */
  readonly validate: ((document: unknown) => readonly Violation[]) | undefined
  /** What the route does with resources that upstreams keep for callers. */
  readonly resource: ResourceRule | undefined
  /** Where its requests may name such resources. */
  readonly references: readonly ResourceReference[]
  /** Where its requests may name a model whose upstream is to keep the new resource. */
  readonly modelHints: readonly ModelHint[]
  readonly resumableUpload: ResumableUpload | undefined
  /** The requests of another route that a request of this one contains. */
  readonly batch: BatchRule | undefined
  /** Where lines of results name requests and models. */
  readonly results: ResultRule | undefined
  /** Names of the upstreams that speak the route's protocol, those that are switched off among them. */
  readonly speakers: ReadonlySet<string>
  /** Whether only callers may that have every model. */
  readonly requiresAllModels: boolean
  /** What {@link validate} and {@link validateJson} check by, draft-07. */
  readonly schema?: RouteSchema
  readonly jsonSchema?: RouteSchema
  /** The same for JSON that is sent in place of a form. Absent: JSON is not taken. */
  readonly validateJson: ((document: unknown) => readonly Violation[]) | undefined
  /** Whether some upstream answers it with work that has only begun ({@link Exchange.awaited}). */
  readonly awaits: boolean
  /** What its whole JSON answers are compared with, and which share of them. Absent: nothing is declared. */
  readonly responseCheck?: { readonly share: number; readonly validate: (document: unknown) => readonly Violation[] }
  readonly limits: Pick<Limits, RouteLimit>
  /**
   * The ways to serve a model on this route, or `undefined` where there are none. `model` is `''` on routes without a
   * model pointer. Says nothing about who may use it.
   */
  resolve(model: string): Choice | undefined
  readonly shipped: boolean
}

/** A request schema as the files have it. */
export interface RouteSchema {
  readonly name: string
  readonly document: JsonObject
}

/** What a route does with tasks: work that continues when its request has been answered. */
export interface TaskRoute {
  readonly kind: TaskKind
  readonly action: TaskAction
  /** The parameter of the path that names a task. */
  readonly parameter: string | undefined
  /** The member of the body that names one, as its value or as the first word of that; with `select`, several. */
  readonly member: string | undefined
  /** What records call tasks that begin here. */
  readonly label: string | undefined
  /** Whether links that the gateway signed are answered without a key. */
  readonly signed: boolean
  /** The member of the body with the URL to notify when a task ends. */
  readonly webhook: string | undefined
  /** The header that tells clients how many milliseconds to wait between two polls. */
  readonly pollHeader: string | undefined
  /** HTTP status of content that is not there yet; absent: as the error has it. */
  readonly notReady: number | undefined
  /** Where a task is made that the gateway itself works on: the path of the request, and how its answer is read. */
  readonly runs: { readonly path: string; readonly shape: TaskShape } | undefined
  /**
   * How tasks that began on this route are followed at an upstream, with the credential that began them where the upstream
   * still has it; undefined where the upstream is gone or switched off.
   */
  target(upstream: string, credential?: string): TaskTarget | undefined
}

export interface TaskTarget {
  readonly upstream: Upstream
  readonly shape: TaskShape
  readonly calls: Partial<Readonly<Record<TaskCallName, TaskCall>>>
  readonly timeouts: Timeouts
}

export interface TaskCall {
  readonly call: Call
  readonly request: Transform | undefined
  readonly response: Transform | undefined
}

/** Groups in order of preference; within a group one is drawn by weight and the others follow. Never empty. */
export interface Choice {
  readonly groups: readonly Group[]
  /** Absent: their order and weights alone decide. */
  readonly routing?: Routing
}

export interface Group {
  readonly exchanges: readonly Exchange[]
  /** One per exchange, over 0. */
  readonly weights: readonly number[]
}

/** One (route × target) pair, decided at compile time: how this upstream serves this model on this route. */
export interface Exchange extends ExchangeRouting, ExchangeChanges {
  readonly upstream: Upstream
  /** Absent: the upstream speaks the route's protocol, and bytes pass. */
  readonly translation: Translation | undefined
  /** The name that this upstream knows. */
  readonly model: string
  readonly call: Call
  /** Used when the request asks for a stream; the same as `call` where the upstream makes no difference. */
  readonly streamCall: Call
  /** Absent: the upstream accepts forms, or gets none. */
  readonly formsAs?: FormsAs
  /** After the verbs for answers, or before them where JSON is made. Absent: answers keep their format. */
  readonly answers?: AnswerFormat
  readonly timeouts: Timeouts
  readonly retry: RetryPolicy
  /** The same with each of the upstream's secrets, itself included; absent where there is but one, or only one will do. */
  readonly secrets?: readonly Exchange[]
  /** Of a copy that is changed for one call: the exchange of the plan. */
  readonly planned?: Exchange
  /** Absent: what is learned of it changes nothing. */
  readonly health?: HealthRule
  /** Headers by which the upstream says when a rate limit that is used up resets. Absent: it has none. */
  readonly resets?: readonly RateLimitReset[]
  /** The upstream does the work in the background: its answer says how to ask for the result. */
  readonly awaited?: TaskTarget
  /** Absent: the configuration has no limits and no prices. */
  readonly tariff?: Tariff
  /** How requests name the most tokens of an answer. Absent: the configuration has no limits and no prices. */
  readonly output?: Pick<Traits, 'max_output' | 'max_tokens_field'>
}

/** A pair of codecs of one operation, and what the encoder has to know of the model. */
export interface Translation {
  readonly server: Codec
  readonly client: Codec
  readonly traits: Traits
  /** Nothing may be left out: what cannot be carried is refused. */
  readonly strict: boolean
  readonly rateLimits: RateLimits
  /** Where the upstream's protocol tells its usage: of answers that come to nothing. */
  readonly usage: UsagePaths | undefined
}

export interface RetryPolicy extends Retry {
  /** Whether a failure (a phase or a status) may be tried again. */
  readonly covers: (condition: Retry['on'][number]) => boolean
}

export interface Upstream {
  readonly name: string
  /** Tells it from upstreams of that name in other plans whose address, credential or calls are others: what is learned of one says nothing of the other. */
  readonly definition: string
  readonly kind: string | undefined
  /** `https://host:port`, `embedded:simulator` or `embedded:recordings`. */
  readonly origin: string
  readonly off: string | undefined
  /** Flat name, value list that goes with every request: the credential and the declared headers. */
  readonly headers: readonly string[]
  /** The same with every secret masked, for `explain`. */
  readonly shownHeaders: readonly string[]
  /** The upstream's credential, in every place, so that nothing that it says can show it to a client. */
  readonly secret: Secret | undefined
  /** Further secrets in its requests, or for its tokens. */
  readonly hidden: readonly Secret[]
  readonly source?: PlacedSource
  /** Tells that secret from others without telling what it is. */
  readonly credential: string | undefined
  /** The same upstream with the credentials that it had before: what was begun with one of them continues with it. */
  readonly former: readonly Upstream[]
  /** The same upstream with each of the secrets that take turns with this one. */
  readonly others: readonly Upstream[]
  /** Its name in records of what it keeps: of several secrets, it says which one may ask for that. */
  readonly keeper: string
  /** The cheapest request that is declared for it: its probe, or its list of models. Absent: it has neither. */
  readonly cheapest?: CheapestCall
  /** Absent: only requests show whether it answers. */
  readonly probe?: UpstreamProbe
  /** Whether ids of resources that belong to no key go to it. */
  readonly passesUnknown: boolean
  readonly forward: { readonly request: HeaderFilter; readonly response: HeaderFilter }
  readonly connect: number
  /** Absent: connections leave as the system has it. */
  readonly egress?: EgressConfig
  /** Absent: nothing is known of it. */
  readonly region?: string
  /** They answer in its place. */
  readonly recordings?: RecordingsConfig
}

/** Whether a header, given by its lower-case name, passes. */
export type HeaderFilter = (name: string) => boolean

export interface Protocol {
  readonly name: string
  readonly end:
    | {
        readonly data: string | undefined
        readonly events: readonly string[]
        /** Paths, split; `*` is any element or member. */
        readonly members: readonly (readonly string[])[]
        readonly repeats: boolean
      }
    | undefined
  /** Whole answers are bytes, regardless of their type, unless it says JSON; false: they are JSON; undefined: no one knows. */
  readonly binary: boolean | undefined
  readonly streamError: 'family' | 'responses'
  readonly usage: UsagePaths | undefined
  /** Absent: an answer may have any length. */
  readonly amounts?: AmountPaths
  /** Headers in which clients see their rate limits. */
  readonly rateLimits?: RateLimitsConfig
  readonly vectors: VectorRule | undefined
  /** What a tunnel reads of the messages that pass. */
  readonly messages: MessageRules
  readonly subprotocols: Subprotocols | undefined
  readonly unknownModel:
    | { readonly status: number; readonly param: string | undefined; readonly message: string | undefined }
    | undefined
}

/**
 * Dotted paths, split, from the top of the JSON document or event. The numbers of `input` are added up, as are those of `output`,
 * but paths that end in the same two names are places of one number, as are all paths of another field.
 */
export type UsagePaths = Readonly<Partial<Record<keyof Usage, readonly (readonly string[])[]>>>

/** Tokens, as the upstream counted them. */
export interface Usage extends TextUsage {
  readonly total?: number
  /** Seconds of audio, if billed by time. */
  readonly seconds?: number
}

/** An upstream that tells which models it has, for one glob. */
export interface ModelSource {
  readonly upstream: Upstream
  readonly call: Call
  /** Those of the upstream's names that the glob stands for, as clients write them. */
  names(reported: readonly string[]): readonly string[]
}

export interface ModelTable {
  /**
   * Models that this caller may use and that some upstream serves now: the declared ones in the order of the file, then
   * the names that {@link sources} gave.
   */
  list(caller: Caller, reported?: readonly string[]): readonly ModelEntry[]
  /** Upstreams that are asked which names the caller's globs stand for. */
  sources(caller: Caller): readonly ModelSource[]
  find(name: string, caller: Caller): ModelEntry | undefined
  /** Declared globs that stand for some model which this caller may use, served or not. */
  globs(caller: Caller): readonly string[]
  /**
   * Names of the upstreams that the caller's models lead to: all of its models, or the one of that name. Undefined where
   * the caller has no such model.
   */
  upstreams(caller: Caller, name?: string): ReadonlySet<string> | undefined
  /** The name by which an upstream knows the model; undefined where the model is not served there. */
  nameAt(name: string, upstream: string): string | undefined
}
