/** What the admin API answers, as far as the console reads it; /admin/openapi.json describes all of it. */

export interface Session {
  readonly role: 'viewer' | 'admin'
  readonly expires?: number
  /** Of a person who signed in at an issuer. */
  readonly name?: string
  readonly zone: string
}

export type Times = readonly [number | null, number | null, number | null]

export interface Stats {
  readonly at: number
  readonly generation: number
  readonly digest: string
  readonly processes: number
  /** Upstreams at which the simulator plays faults. */
  readonly faults: readonly string[]
  readonly in_flight: number
  readonly streams: number
  readonly requests: number
  readonly failed: number
  readonly limited: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly micro_usd: number
  readonly first: Times
  readonly own: Times
  readonly resting: readonly {
    readonly upstream: string
    readonly state: string
    readonly until?: number
    readonly reason?: string
  }[]
}

export interface Row {
  readonly name: string
  readonly requests: number
  readonly failed: number
  readonly tokens: number
  readonly micro: number
  readonly times: Times
}

type Column = readonly (number | null)[]

export interface NamedSeries {
  readonly name: string
  readonly requests: readonly number[]
  readonly failed: readonly number[]
  readonly tokens: readonly number[]
  readonly micro_usd: readonly number[]
}

export interface Series {
  readonly range: string
  readonly step: number
  readonly t: readonly number[]
  readonly requests: Column
  readonly failed: Column
  readonly limited: Column
  readonly rejected: Column
  readonly tokens: Column
  readonly micro_usd: Column
  readonly own_p95: Column
  readonly first_p50: Column
  readonly first_p95: Column
  readonly first_p99: Column
  /** Those of the names that had most requests, and of all others together. */
  readonly series?: readonly NamedSeries[]
  readonly totals: {
    readonly requests: number
    readonly failed: number
    readonly limited: number
    readonly rejected: number
    readonly input: number
    readonly output: number
    readonly micro: number
    readonly first: Times
    readonly own: Times
    readonly errors: Readonly<Record<string, number>>
    readonly models: readonly Row[]
    readonly upstreams: readonly Row[]
    readonly keys: readonly Row[]
  }
}

/** A line of the log. */
export interface Line {
  readonly id: string
  readonly trace: string
  readonly time: string
  readonly method: string
  readonly route?: string
  readonly path?: string
  readonly key?: string
  readonly model?: string
  readonly upstream?: string
  readonly target?: string
  readonly status: number
  readonly outcome: string
  readonly stream: boolean
  readonly error?: string
  readonly cause?: string
  readonly first_ms?: number
  readonly total_ms: number
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly cached_tokens?: number
  readonly cost_usd?: number
  readonly dropped?: readonly string[]
  readonly generation: number
  readonly [name: string]: unknown
}

export interface Step {
  readonly upstream: string
  readonly model: string
  readonly start: number
  readonly placed?: number
  readonly sent?: number
  readonly answered?: number
  readonly end: number
  readonly phase: string
  readonly status?: number
  readonly translated?: string
}

type Pairs = readonly (readonly [name: string, value: string])[]

export interface Detail {
  /** Absent where too many requests came at once. */
  readonly headers?: { readonly request: Pairs; readonly upstream?: Pairs; readonly answer: Pairs }
  readonly fields: readonly {
    readonly field: string
    readonly verdict: 'carried' | 'approximated' | 'dropped' | 'refused' | 'here' | 'by_content'
    readonly why?: string
  }[]
  readonly content?: {
    readonly request?: string
    readonly answer?: string
    readonly cut?: { readonly request: number; readonly answer: number }
  }
}

export interface ShownRequest {
  readonly line: Line
  readonly steps: readonly Step[]
  readonly detail: Detail
  /** There is content, and this session does not get it. */
  readonly withheld?: boolean
}

export interface Resting {
  readonly state: string
  readonly reason?: string
  readonly until?: number
}

export interface Upstream {
  readonly name: string
  readonly kind?: string
  readonly base?: string
  readonly speaks?: readonly string[]
  readonly off?: string
  readonly secrets?: number
  readonly health?: Resting & {
    readonly secrets?: readonly (Resting & { readonly credential: string })[]
    readonly models?: readonly (Resting & { readonly model: string })[]
  }
}

export interface Limit {
  readonly unit: string
  readonly window: string | null
  readonly limit: number
  readonly used?: number
  readonly left?: number
  readonly reserved?: number
  readonly resets_at?: number | null
}

export interface ScopeLimits {
  readonly scope: string
  readonly name: string
  readonly limits: readonly Limit[]
}

export interface Key {
  readonly name: string
  readonly source: 'file' | 'store'
  readonly group?: string
  readonly models?: readonly string[]
  readonly disabled?: boolean
  readonly expires?: string
  readonly warning?: string
}

export interface Target {
  readonly upstream: string
  readonly as?: string
  /** Percent of the requests. */
  readonly share?: number
  readonly off?: string
}

export interface PlanAnswer {
  readonly generation: number
  readonly digest: string
  /** Where clients call. */
  readonly base: string
  readonly keys: readonly {
    readonly name: string
    readonly models: readonly string[]
    readonly off?: string
    readonly group?: string
  }[]
  readonly models: readonly {
    readonly name: string
    readonly groups: readonly (readonly Target[])[]
    readonly strategy?: string
    readonly fallbacks?: readonly string[]
  }[]
  readonly upstreams: readonly { readonly name: string; readonly kind?: string; readonly off?: string }[]
}

export interface Problem {
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
  readonly severity: string
}

export interface Checked {
  readonly valid: boolean
  readonly problems: readonly Problem[]
  readonly changes?: Readonly<Record<string, unknown>>
  /** What that means for callers. */
  readonly difference?: Difference
}

export interface Difference {
  readonly skipped?: string
  readonly changes?: number
  readonly weaker?: number
  readonly loss?: number
  readonly unreachable?: number
  readonly lines?: readonly string[]
}

export interface Applied extends Checked {
  readonly generation: number
}

export interface PlanFile {
  readonly file: string
  readonly text: string
  readonly masked: boolean
  readonly digest: string
  /** Whether this session may check drafts of it. */
  readonly check: boolean
  /** Whether this session may write it. */
  readonly write: boolean
}

export interface List<T> {
  readonly data: readonly T[]
  readonly next?: string
}

export interface FaultyUpstream {
  readonly name: string
  readonly kind?: string
  readonly faults?: string
  readonly until?: number
}

export interface FaultsAnswer {
  readonly upstreams: readonly FaultyUpstream[]
  readonly known: readonly { readonly name: string; readonly value: string; readonly description: string }[]
}

export interface TestAnswer {
  readonly call: string
  readonly results: readonly {
    readonly credential?: string
    readonly status?: number
    readonly milliseconds: number
    readonly error?: string
  }[]
}

/** In columns of equal steps. */
export interface Usage {
  readonly name: string
  readonly range: string
  readonly zone: string
  readonly t: readonly number[]
  readonly requests: readonly number[]
  readonly failed: readonly number[]
  readonly tokens: readonly number[]
  readonly usd: readonly number[]
  /** Milliseconds. */
  readonly p50: Column
  readonly p95: Column
  readonly bounds: readonly {
    readonly unit: string
    readonly window: string
    readonly limit: number
    readonly used: readonly (number | null)[]
  }[]
}
