import type { Limits, Retry, Timeouts } from '../core/limits.js'
import type { MediaFetchConfig } from '../core/media.js'
import type { Placement } from '../core/placement.js'

// What holds where the files say nothing. The schema tells the same to editors; a test compares the two.

const KIB = 2 ** 10
const MIB = 2 ** 20
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS

export const LIMITS: Limits = {
  body: 32 * MIB,
  url: 8 * KIB,
  header_bytes: 16 * KIB,
  header_count: 100,
  depth: 64,
  members: 10_000,
  conversation_items: 10_000,
  values: 1_000_000,
  memory: 256 * MIB,
  body_memory: 256 * MIB,
  parts: 256,
  field: 1 * MIB,
  fields: 4 * MIB,
  line: 1 * MIB,
  event: 4 * MIB,
  response: 64 * MIB,
  connections: 512,
  queue: 1024,
  in_flight: 10_000,
  sessions: 100,
  headers: 10 * SECOND_MS,
  upload: 5 * MINUTE_MS,
  stall: 2 * MINUTE_MS,
  keep_alive: 75 * SECOND_MS,
  drain: 30 * SECOND_MS,
}

export const TIMEOUTS: Timeouts = {
  queue: 5 * SECOND_MS,
  connect: 3 * SECOND_MS,
  first_byte: 5 * MINUTE_MS,
  idle: 2 * MINUTE_MS,
  total: 30 * MINUTE_MS,
}

export const RETRY: Retry = { attempts: 3, on: ['connect', 'reset', 429, 500, 502, 503, 504, 529] }

export const LISTEN = { host: '127.0.0.1', port: 8080, backlog: 4096 } as const

/** Beside the folder, which stands in the data folder or the system's. */
export const SPOOL = { body: 256 * KIB, memory: 64 * MIB, disk: 2048 * MIB } as const

export const STORE = { type: 'file', path: './data' } as const

/** A store of type redis; half a request that waits for a store that is gone is worse than one without it. */
export const REDIS = { prefix: 'gateway', timeout: 50 } as const

export const POSTGRES = {
  database: 'gateway',
  schema: 'gateway',
  pool: 10,
  timeout: 5 * SECOND_MS,
  wait: 1 * SECOND_MS,
} as const

/** Once fetching is allowed. */
export const MEDIA_FETCH: Omit<MediaFetchConfig, 'allow'> = {
  http: false,
  ports: [80, 443],
  max: 20 * MIB,
  total: 50 * MIB,
  count: 20,
  timeout: 10 * SECOND_MS,
  redirects: 3,
}

export const TASKS = { lease: 30 * SECOND_MS, wait: 30 * SECOND_MS } as const

/** Once a secret to sign with is declared. */
export const WEBHOOKS = { allow: ['*'], ports: [443], timeout: 10 * SECOND_MS, attempts: 8 } as const

/** Where callers' keys stand where neither the route nor its file says so. */
export const CALLER: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]
