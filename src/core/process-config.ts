import type { Secret } from './secret.js'
import type { SignInConfig } from './sign-in.js'

/** A file and what stood in it. */
export interface FileContent {
  /** Absolute. */
  readonly path: string
  readonly content: Secret
}

export interface ListenConfig {
  readonly host: string
  readonly port: number
  /** Most connections that the system holds until they are accepted. */
  readonly backlog: number
  /**
   * Absolute paths of PEM files and what stood in them. `clientCa`: authorities whose certificates callers may show; `clientCrl`:
   * what those have revoked.
   */
  readonly tls?: {
    readonly cert: FileContent
    readonly key: FileContent
    readonly clientCa?: FileContent
    readonly clientCrl?: FileContent
  }
  readonly cors?: { readonly origins: readonly string[] }
  /** Networks whose word on where a request came from is taken. */
  readonly trusted_proxies?: readonly string[]
}

/** Where the admin API listens, and who may use it. */
export interface AdminConfig {
  readonly host: string
  readonly port: number
  /** Whether a start fails if another process has the port: one of the command line. For one of the file it is a warning. */
  readonly isRequired: boolean
  readonly tls?: { readonly cert: FileContent; readonly key: FileContent }
  /** Absent: it is not there, so no one may. */
  readonly secret?: KeySecret
  /** Absent: nothing is measured. */
  readonly metrics?: MetricsConfig
  /** Whether the listener serves the console. */
  readonly console: boolean
  /** Whether the admin API may write the configuration file. */
  readonly write: boolean
  /** Absent: people sign in with the admin key or a link. */
  readonly oidc?: SignInConfig
}

/** What `GET /metrics` of the admin listener shows, and who may ask. */
export interface MetricsConfig {
  /** Whether no key is asked for. */
  readonly open: boolean
  /** Whether each caller's key has series of its own. */
  readonly per_key: boolean
}

/** Where the admin API listens, and whose key it takes. */
export interface AdminPlan extends Omit<AdminConfig, 'secret'> {
  /** SHA-256 of the admin key in lower-case hex; undefined: no one may. */
  readonly digest: string | undefined
}

/** How processes share the tasks that they follow. */
export interface TasksConfig {
  /** How long one of them has a task to itself, milliseconds. */
  readonly lease: number
  /** How long a request waits for another one with the same key of its client's, milliseconds. */
  readonly wait: number
}

/** Hosts that clients may name for notifications of their tasks, and how they are notified. */
export interface WebhookConfig {
  /** Absent: no notifications. */
  readonly secret?: Secret
  /** As for fetching media. */
  readonly allow: readonly string[]
  readonly region?: string
  readonly ports: readonly number[]
  /** Milliseconds for one call. */
  readonly timeout: number
  /** Calls for one notification. */
  readonly attempts: number
}

/** Where bodies that have to be held whole are held while they are served. Sizes in bytes. */
export interface SpoolConfig {
  /** Absolute path of the folder for what does not stay in memory. */
  readonly path: string
  /** Bytes of one body that stay in memory. */
  readonly body: number
  /** Most of all bodies together that stays in memory. */
  readonly memory: number
  /** Most of all bodies together on the disk. */
  readonly disk: number
}

/**
 * `plain` was read from a variable or file; `digest` is the lower-case hex of sha256 over the UTF-8 key;
 * `generated` asks the runtime to make a key on first start and keep it in the data folder under this key's name.
 */
export type KeySecret =
  /** `file` is where it was read, absolute; absent where a variable holds it. */
  | { readonly type: 'plain'; readonly secret: Secret; readonly file?: string }
  | { readonly type: 'digest'; readonly sha256: string }
  | { readonly type: 'generated' }
