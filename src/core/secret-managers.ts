import type { GcpSource, SigV4Source } from './credential-source.js'
import type { ClientTls } from './egress.js'
import type { Secret } from './secret.js'

/** What keeps secrets outside of this machine. */
export type Manager = 'vault' | 'aws' | 'gcp'

/** A secret in a manager. */
export interface ManagedSecret {
  readonly manager: Manager
  /** As the manager calls it. */
  readonly name: string
  /** Member of what is kept there. */
  readonly field?: string
}

/** Names a secret, also for people: `vault secret/data/north#api_key`. */
export function managedId({ manager, name, field }: ManagedSecret): string {
  return `${manager} ${name}${field === undefined ? '' : `#${field}`}`
}

/** What is known of a secret in a manager: what it is, or why it could not be fetched. */
export type Held = { readonly text: string } | { readonly fault: string }

/** Secrets that a configuration needs from managers, and where these are. */
export interface ManagedConfig {
  readonly managers: ManagersConfig
  readonly secrets: readonly WantedSecret[]
}

interface WantedSecret extends ManagedSecret {
  /** Of the file, that name it: `store`, `upstreams`. */
  readonly sections: readonly string[]
}

/** Durations in milliseconds. */
export interface ManagersConfig {
  readonly refresh: number
  /** For one request. */
  readonly timeout: number
  /** Over that of `egress`. */
  readonly tls?: ClientTls
  readonly vault?: VaultConfig
  readonly aws?: AwsManagerConfig
  readonly gcp?: GcpManagerConfig
}

export interface VaultConfig {
  /** Without `/v1`, and without a slash at its end. */
  readonly address: string
  readonly namespace?: string
  readonly login: VaultLogin
}

/** How the gateway shows who it is; `none`: what it needs for that is not there. */
export type VaultLogin =
  | { readonly by: 'token'; readonly token: Secret }
  | { readonly by: 'app_role'; readonly mount: string; readonly roleId: string; readonly secretId: Secret }
  | { readonly by: 'kubernetes'; readonly mount: string; readonly role: string; readonly tokenFile: string }
  /** By the certificate that its connections show. */
  | { readonly by: 'cert'; readonly mount: string; readonly role?: string }
  | { readonly by: 'none'; readonly reason: string }

export interface AwsManagerConfig {
  /** Absent: its secret access key is not there. */
  readonly source?: SigV4Source
  /** Absent: the usual one of the region. */
  readonly endpoint?: string
}

export interface GcpManagerConfig {
  readonly source: GcpSource
  readonly endpoint: string
}
