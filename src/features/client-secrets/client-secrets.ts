import { hash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Caller, Refusal } from '../../core/caller.js'
import { CLIENT_SECRET_PREFIX } from '../../core/client-secrets.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import { mappingsOf } from '../../core/identity.js'
import type { JsonObject } from '../../core/json.js'
import type { Plan } from '../../core/plan.js'
import type { Store } from '../../core/store.js'
import { SealedBox } from '../../kernel/sealed-box.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { type Slot, slot } from '../../kernel/slot.js'
import type { Identified, Identities } from '../identity/identities.js'
import { TokenFault } from '../identity/verify.js'
import type { Callers } from '../keys/callers.js'

/** Largest session of a secret, as JSON, bytes. */
export const MAX_SESSION_BYTES = 32 * 1024
/** Maximum length of a secret, which is sent in a header beside others. */
export const MAX_SECRET_CHARS = 6 * 1024
/** Largest content of a secret: the session, and names of models. */
const MAX_INFLATED_BYTES = 2 * MAX_SESSION_BYTES
const SEAL_CONTEXT = 'client secret'

/** The client secret that replaces the caller's key, if there is one. */
export const CLIENT_SECRET: Slot<ClientSecret> = slot('client_secret')

/** What a client secret allows: sessions like this one, in the name of the key or the identity that created it. */
export interface ClientSecret {
  /** SHA-256 of that key, in lower-case hex: if the key is gone, the secret is invalid. */
  readonly key: string
  /** In place of the key: who presented a token or a certificate, with the terms of that moment. */
  readonly identity?: Omit<Identified, 'caller'>
  /** Seconds since the epoch; sessions that are open continue. */
  readonly expires: number
  readonly model: string
  /** Further models that the session names. */
  readonly others: readonly string[]
  /** The session's initial settings, beside the model. */
  readonly session: JsonObject | null
}

export const CLIENT_SECRETS: ServiceKey<ClientSecrets> = serviceKey('client_secrets')

/** Seals a secret's content into the secret itself, so that nothing is stored. */
export class ClientSecrets {
  readonly #box: SealedBox
  readonly #now: () => number

  constructor(store: Store, now: () => number = () => Date.now()) {
    this.#box = new SealedBox(store, 'client-secrets')
    this.#now = now
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#now()
  }

  /** Throws `unavailable` if the store does not answer. */
  async make(secret: ClientSecret): Promise<string> {
    const bytes = deflateRawSync(Buffer.from(jsonText({ ...secret, session: secret.session ?? null })))
    return CLIENT_SECRET_PREFIX + (await this.#box.sealer()).seal(bytes, SEAL_CONTEXT)
  }

  /** A secret's content, and its caller: who created it, limited to that model. Throws `unavailable`. */
  async open(
    presented: string,
    callers: Callers,
    plan: Plan,
    identities: () => Identities,
  ): Promise<{ readonly secret: ClientSecret; readonly caller: Caller } | Refusal> {
    const secret = presented.length <= MAX_SECRET_CHARS ? await this.read(presented) : undefined
    if (secret === undefined) return { refused: 'unknown' }
    const now = this.#now()
    if (now >= secret.expires * 1000) return { refused: 'expired' }
    const { identity } = secret
    const parent =
      identity === undefined ? await callers.byDigest(plan, secret.key, now) : callerBy(identity, plan, identities())
    return 'refused' in parent ? parent : { secret, caller: callerOf(secret, parent) }
  }

  private async read(presented: string): Promise<ClientSecret | undefined> {
    const sealed = presented.slice(CLIENT_SECRET_PREFIX.length)
    // Refuse other spellings of the same bytes.
    if (Buffer.from(sealed, 'base64url').toString('base64url') !== sealed) return undefined
    const bytes = (await this.#box.sealer()).open(sealed, SEAL_CONTEXT)
    if (bytes === undefined) return undefined
    return parseExact(
      inflateRawSync(bytes, { maxOutputLength: MAX_INFLATED_BYTES }).toString('utf8'),
    ) as unknown as ClientSecret
  }
}

/** Who has that identity in this plan. */
function callerBy(
  { provider, identity, until }: Omit<Identified, 'caller'>,
  plan: Plan,
  of: Identities,
): Caller | Refusal {
  const isDeclared = plan.identity !== undefined && mappingsOf(plan.identity).some(({ name }) => name === provider)
  if (!isDeclared) return { refused: 'unknown' }
  try {
    return of.identified(plan, provider, identity, until).caller
  } catch (cause) {
    if (cause instanceof TokenFault) return { refused: 'unknown' }
    throw cause
  }
}

export function digestOf(key: string): string {
  return hash('sha256', key)
}

function callerOf({ model, others }: ClientSecret, parent: Caller): Caller {
  const named = [model, ...others]
  return { ...parent, models: named, may: name => named.includes(name) && parent.may(name) }
}
