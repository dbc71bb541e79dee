import { createHash } from 'node:crypto'
import { Secret } from '../core/secret.js'
import {
  type Held,
  type ManagedConfig,
  type ManagedSecret,
  type ManagersConfig,
  managedId,
} from '../core/secret-managers.js'
import { type SecretManager, secretIn } from '../credentials/managers/manager.js'
import { openManagers } from '../credentials/managers/open.js'
import { setVariables } from '../credentials/oauth2.js'
import type { Egress } from '../net/egress.js'
import { CredentialFault } from '../net/signer.js'

/** Secrets that are fetched at the same time. */
const MAX_FETCHES = 8
/** While a secret cannot be fetched, the next attempt comes after this; it doubles with each. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 30_000
/** Secrets are not fetched more often for a login that ends, milliseconds. */
const MIN_WAIT_MS = 1000

/** What a configuration needs, and the way to it. */
interface Needs {
  readonly config: ManagedConfig
  readonly digest: string
  /** Of the managers alone: secrets that come and go need no other login. */
  readonly managersDigest: string
  readonly open: ReturnType<typeof openManagers>
  /** Those that were asked. */
  readonly asked: Set<SecretManager>
}

/**
 * Secrets of secret managers, in memory alone. Each is fetched at the start, with each reload, and again after the declared
 * time. One that was fetched serves until there is another: a manager that is away, or refuses, takes nothing away.
 */
export class SecretKeeper {
  /** Called when a secret cannot be fetched any more, and when it can again (undefined). */
  onFault: (id: string, fault: string | undefined) => void = () => undefined
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #sections: readonly string[] | undefined
  #held: ReadonlyMap<string, Held> = new Map()
  #faults: ReadonlyMap<string, string> = new Map()
  #needs: Needs | undefined
  #timer: NodeJS.Timeout | undefined
  #retryMs = FIRST_RETRY_MS
  /** What was fetched is for the reload that begins now. */
  #isFresh = false
  #changed: (() => Promise<unknown>) | undefined

  /** `sections`: of the file, to fetch only the secrets that these name. */
  constructor(env: Readonly<Record<string, string | undefined>>, sections?: readonly string[]) {
    this.#env = setVariables(env)
    this.#sections = sections
  }

  /** By their ids. */
  get held(): ReadonlyMap<string, Held> {
    return this.#held
  }

  /** Why secrets could not be fetched the last time, by their ids; those that were fetched before serve. */
  get faults(): ReadonlyMap<string, string> {
    return this.#faults
  }

  /** Fetches all secrets of a configuration, and forgets others. Resolves with whether one is new, or is another than before. */
  async fetch(config: ManagedConfig | undefined, egress: Egress | undefined): Promise<boolean> {
    const isFresh = this.#isFresh
    this.#isFresh = false
    if (config === undefined) {
      this.#needs = undefined
      this.#held = new Map()
      this.#take(new Map())
      clearTimeout(this.#timer)
      return false
    }
    const before = this.#needs
    const digest = digestOf(config) + egress?.digest
    if (before?.digest === digest && isFresh) return false
    const needs = before?.digest === digest ? before : this.#needsOf(config, egress, digest)
    this.#needs = needs
    const isChanged = await this.#fetchAll(needs)
    this.#again()
    return isChanged
  }

  #needsOf(config: ManagedConfig, egress: Egress | undefined, digest: string): Needs {
    const { managers } = config
    const before = this.#needs
    const managersDigest = digestOf(managers) + egress?.digest
    const outside = { timeoutMs: managers.timeout, egress, env: this.#env }
    const open = before?.managersDigest === managersDigest ? before.open : openManagers(managers, outside)
    return { config, digest, managersDigest, open, asked: new Set() }
  }

  /** From now on secrets are fetched again after a time; `changed` is called when one is another than before. */
  follow(changed: () => Promise<unknown>): void {
    this.#changed = changed
    this.#again()
  }

  close(): void {
    this.#changed = undefined
    clearTimeout(this.#timer)
  }

  #again(): void {
    clearTimeout(this.#timer)
    const needs = this.#needs
    if (this.#changed === undefined || needs === undefined) return
    const { refresh } = needs.config.managers
    const login = Math.max(
      MIN_WAIT_MS,
      Math.min(...[...needs.asked].map(one => one.dueAt ?? Number.POSITIVE_INFINITY)) - Date.now(),
    )
    const wait = Math.min(this.#faults.size === 0 ? login : this.#retryMs, refresh)
    this.#retryMs = this.#faults.size === 0 ? FIRST_RETRY_MS : Math.min(this.#retryMs * 2, LAST_RETRY_MS)
    this.#timer = setTimeout(() => void this.#refresh(needs), wait).unref()
  }

  async #refresh(needs: Needs): Promise<void> {
    const isChanged = await this.#fetchAll(needs)
    // A reload has taken other secrets in the meantime.
    if (needs !== this.#needs) return
    this.#isFresh = isChanged
    if (isChanged) await this.#changed?.().catch(() => undefined)
    this.#again()
  }

  async #fetchAll(needs: Needs): Promise<boolean> {
    const only = this.#sections
    const secrets = needs.config.secrets.filter(
      one => only === undefined || one.sections.some(name => only.includes(name)),
    )
    const held = new Map<string, Held>()
    const faults = new Map<string, string>()
    const documents = new Map<string, ReturnType<SecretManager['read']>>()
    const read = async ({ manager, name, field }: ManagedSecret): Promise<string> => {
      const place = `${manager} ${name}`
      const document = documents.get(place) ?? needs.open(manager).then(one => readBy(one, name, needs))
      documents.set(place, document)
      return secretIn(await document, field)
    }
    const rest = [...secrets]
    const fetchNext = async (): Promise<void> => {
      for (let one = rest.shift(); one !== undefined; one = rest.shift()) {
        const id = managedId(one)
        try {
          held.set(id, { text: await read(one) })
        } catch (cause) {
          const fault = cause instanceof CredentialFault ? cause.message : 'the gateway failed'
          const before = this.#held.get(id)
          held.set(id, before !== undefined && 'text' in before ? before : { fault })
          faults.set(id, fault)
        }
      }
    }
    await Promise.all(Array.from({ length: MAX_FETCHES }, fetchNext))
    if (needs !== this.#needs) return false
    const isChanged = secrets.some(one => textOf(held.get(managedId(one))) !== textOf(this.#held.get(managedId(one))))
    this.#held = held
    this.#take(faults)
    return isChanged
  }

  #take(faults: ReadonlyMap<string, string>): void {
    const before = this.#faults
    this.#faults = faults
    for (const [id, fault] of faults) if (!before.has(id)) this.onFault(id, fault)
    for (const id of before.keys()) if (!faults.has(id) && this.#held.has(id)) this.onFault(id, undefined)
  }
}

function readBy(manager: SecretManager, name: string, { asked }: Needs): ReturnType<SecretManager['read']> {
  asked.add(manager)
  return manager.read(name)
}

function textOf(held: Held | undefined): string {
  if (held === undefined) return ''
  return 'text' in held ? `=${held.text}` : '!'
}

/** Secrets included: never shown. */
function digestOf(config: ManagedConfig | ManagersConfig): string {
  const revealed = JSON.stringify(config, function (this: Record<string, unknown>, name, value: unknown) {
    const inner = this[name]
    return inner instanceof Secret ? inner.reveal() : value
  })
  return createHash('sha256').update(revealed).digest('hex')
}
