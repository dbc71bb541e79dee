import type { Json } from './json.js'
import type { Secret } from './secret.js'

/** Which store is used, and what its driver has to know; checked, with secrets read. */
export type StoreConfig =
  | (DataFolder & { readonly type: 'memory' | 'file' })
  | (DataFolder & { readonly type: 'redis' } & RedisSettings)
  | (DataFolder & { readonly type: 'postgres' } & PostgresSettings)
  | (DataFolder & { readonly type: 'module' } & ModuleSettings)

interface DataFolder {
  /** Absolute path: the file store is here, and keys that the gateway made for itself, regardless of the store. */
  readonly path: string
  /** Secrets that are not there; the store cannot be opened without them. */
  readonly absent?: string
}

export interface RedisSettings {
  readonly mode: 'single' | 'sentinel' | 'cluster'
  /** Of the server; of the sentinels; or some of the cluster's nodes. */
  readonly nodes: readonly Node[]
  /** The name by which sentinels know the servers. */
  readonly group?: string
  readonly username?: string
  readonly password?: Secret
  readonly sentinelPassword?: Secret
  readonly database: number
  readonly tls?: Tls
  /** Before every key. */
  readonly prefix: string
  /** How long a command may take, milliseconds. */
  readonly timeout: number
}

export interface PostgresSettings {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user?: string
  readonly password?: Secret
  readonly tls?: Tls
  /** The schema that holds the tables. */
  readonly schema: string
  /** Connections at most. */
  readonly pool: number
  /** How long a statement may take, milliseconds. */
  readonly timeout: number
  /** How long a call may wait for a connection, milliseconds. */
  readonly wait: number
}

export interface ModuleSettings {
  /** Absolute path of a module that exports `openStore`. */
  readonly module: string
  /** What the module gets, as written. */
  readonly options: Readonly<Record<string, Json>>
}

export interface Node {
  readonly host: string
  readonly port: number
}

export interface Tls {
  /** PEM; absent: the authorities that the system trusts. */
  readonly ca?: string
}

/** What a driver tells while it runs: once when something changes, and not once for each call. */
export interface StoreEvents {
  /** What an operator should change; the store works. */
  warn(message: string): void
  /** The store cannot be reached any more. */
  down(message: string): void
  up(): void
}

/** Which schema is in a place (undefined: nothing does yet), and which one this program knows. */
export interface SchemaFacts {
  readonly written: number | undefined
  readonly known: number
}
