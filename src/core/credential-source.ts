import type { JsonObject } from './json.js'
import type { Placement } from './placement.js'
import type { Secret } from './secret.js'
import type { UserModule } from './user-module.js'

/** How the gateway gets a token for an upstream, or signs requests to it. Times in milliseconds. */
export type CredentialSource = OAuthSource | JwtSource | ExecSource | GcpSource | SigV4Source | ModuleSource

/** A source, and where what it gives is in requests. */
export interface PlacedSource {
  readonly of: CredentialSource
  readonly place: Placement
  /** Of all that decides it, secrets included. */
  readonly digest: string
}

/** A token of a token server (RFC 6749). */
export interface OAuthSource {
  readonly type: 'oauth2'
  readonly tokenUrl: string
  readonly grant: string
  readonly clientId: string
  /** How the client proves who it is; `none`: by `params`, or by its certificate. */
  readonly auth: 'basic' | 'body' | 'private_key_jwt' | 'none'
  /** For `basic`, `body` and `secretField`. */
  readonly secret?: Secret
  /** A further field of the request, which has the secret. */
  readonly secretField?: string
  /** For `private_key_jwt`. */
  readonly key?: SigningKey
  /** Further fields of the request, scope and audience included. */
  readonly params: Readonly<Record<string, string | Secret>>
}

/** A token that the gateway signs itself (RFC 7519). */
interface JwtSource {
  readonly type: 'jwt'
  readonly key: SigningKey
  readonly claims: JsonObject
  readonly ttl: number
  /** How long before it is made it is valid. Absent: it does not say. */
  readonly backdate?: number
}

/** A PEM private key, or the secret of an HS algorithm. */
export interface SigningKey {
  readonly algorithm: string
  readonly key: Secret
  readonly id?: string
}

/** What a command prints. */
export interface ExecSource {
  readonly type: 'exec'
  readonly command: readonly string[]
  readonly timeout: number
}

/** What a module of the user's own gives. */
export interface ModuleSource extends UserModule {
  readonly type: 'module'
  readonly secret?: Secret
  /** For each of its calls. */
  readonly timeout: number
}

/** A Google access token. */
export interface GcpSource {
  readonly type: 'gcp'
  /** A file of credentials; absent: where Google's own tools look. */
  readonly file?: string
  readonly scopes: readonly string[]
}

/** A signature of each request by AWS Signature Version 4. */
export interface SigV4Source {
  readonly type: 'aws-sigv4'
  readonly service: string
  readonly region: string
  /** Whether the signature covers the body. */
  readonly payload: 'signed' | 'unsigned'
  /** Absent: where AWS's own tools look. */
  readonly access?: AccessKey
  /** Of the shared files. */
  readonly profile?: string
  /** A role to assume with these credentials, or with a web identity. */
  readonly role?: AssumedRole
}

interface AccessKey {
  readonly id: string
  readonly secret: Secret
  readonly session?: Secret
}

export interface AssumedRole {
  readonly arn: string
  readonly session: string
  readonly externalId?: string
  /** File with the token that proves who asks. */
  readonly webIdentity?: string
}
