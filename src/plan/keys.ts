import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import type { Caller, KeyRing, Refusal } from '../core/caller.js'
import type { KeyConfig } from '../core/config.js'
import type { AdminConfig, AdminPlan, KeySecret } from '../core/process-config.js'
import type { Secret } from '../core/secret.js'
import type { Steps } from '../core/steps.js'
import { type CompiledGroup, Policies } from './policies.js'
import type { Problems } from './problems.js'

/** A key has 1 to 512 characters of ASCII, none of them a control character. Anything else is not digested. */
const MAX_KEY_CHARS = 512

interface Entry {
  /** Lower-case hex of the key's SHA-256. */
  readonly digest: string
  readonly holder: Holder
}

interface Holder {
  /** What it was made of: a key that is the same in the next plan keeps its holder. */
  readonly config: KeyConfig
  readonly caller: Caller
  /** What its policy was made of, beside its own words. */
  readonly group: CompiledGroup | undefined
  readonly counted: boolean
  readonly disabled: boolean
  readonly expires: number
}

/** Replaces the key that was not found, so that known and unknown keys take the same steps. */
const NOBODY: Entry = {
  digest: '0'.repeat(64),
  holder: {
    config: { secrets: [], models: [], disabled: true, strict: false },
    caller: { name: '', models: [], may: () => false, strict: false },
    group: undefined,
    counted: false,
    disabled: true,
    expires: 0,
  },
}

/** Of this process alone: no one outside can tell which strings share a fold. Odd, so that a fold loses no bits. */
const MULTIPLIER = randomInt(0x4000_0000, 0x7fff_ffff) | 1

/** Callers by the SHA-256 of their keys. */
export class DigestRing implements KeyRing {
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #holders: ReadonlyMap<string, Holder>
  /** Keys presented and found good, by their fold, so that a caller pays for its digest once; never more than keys. */
  readonly #verified = new Map<number, { readonly key: string; readonly holder: Holder }>()

  constructor(entries: ReadonlyMap<string, Entry>, holders: ReadonlyMap<string, Holder>) {
    this.#entries = entries
    this.#holders = holders
  }

  /**
   * Nothing here takes longer the more of a guess is right: maps are asked for a digest or a seeded fold of the whole
   * of it, never for the key (V8 compares strings of one bucket from the left), and what they give is compared in
   * constant time.
   */
  find(presented: string, now: number): Caller | Refusal {
    const folded = fold(presented)
    if (folded === undefined) return { refused: 'malformed' }
    const verified = this.#verified.get(folded)
    if (verified !== undefined && isSame(verified.key, presented)) return admit(verified.holder, now)
    const digest = hash('sha256', presented, 'buffer')
    const hex = digest.toString('hex')
    const entry = this.#entries.get(hex) ?? NOBODY
    const same = timingSafeEqual(Buffer.from(entry.digest, 'hex'), digest)
    if (!same || entry === NOBODY) return { refused: 'unknown', digest: hex }
    // A copy: what is presented may be a part of a longer header.
    this.#verified.set(folded, { key: Buffer.from(presented, 'latin1').toString('latin1'), holder: entry.holder })
    return admit(entry.holder, now)
  }

  byDigest(digest: string, now: number): Caller | Refusal {
    const entry = this.#entries.get(digest)
    return entry === undefined ? { refused: 'unknown', digest } : admit(entry.holder, now)
  }

  has(name: string): boolean {
    return this.#holders.has(name)
  }

  /** What was made of a key of that name. */
  holderOf(name: string): Holder | undefined {
    return this.#holders.get(name)
  }

  /** The caller of that name, as if its key had been presented; `undefined` where no key has the name. */
  named(name: string, now: number): Caller | Refusal | undefined {
    const holder = this.#holders.get(name)
    return holder === undefined ? undefined : admit(holder, now)
  }
}

/** 32 bits over all characters, undefined where a key cannot be so; the time depends on the length alone. */
function fold(text: string): number | undefined {
  const { length } = text
  if (length === 0 || length > MAX_KEY_CHARS) return undefined
  let folded = MULTIPLIER
  let beyond = 0
  for (let i = 0; i < length; i += 1) {
    const code = text.charCodeAt(i)
    // Negative, so that its sign stays, below the space and above the tilde.
    beyond |= (code - 0x20) | (0x7e - code)
    folded = Math.imul(folded ^ code, MULTIPLIER)
  }
  return beyond < 0 ? undefined : folded
}

/** Compares all characters, also after a difference: `timingSafeEqual` for texts of ASCII, without two copies. */
function isSame(key: string, text: string): boolean {
  if (key.length !== text.length) return false
  let differing = 0
  for (let i = 0; i < key.length; i += 1) differing |= key.charCodeAt(i) ^ text.charCodeAt(i)
  return differing === 0
}

/** The caller, unless its key is disabled or has expired. */
export function admit(holder: Pick<Holder, 'caller' | 'disabled' | 'expires'>, now: number): Caller | Refusal {
  if (holder.disabled) return { refused: 'disabled' }
  if (now >= holder.expires) return { refused: 'expired' }
  return holder.caller
}

/**
 * `generated` gives the key that the gateway made for that name; none where it is not to make any (`validate`). Of keys that
 * `before` has from the same object nothing is made again.
 */
export function* compileKeys(
  keys: Readonly<Record<string, KeyConfig>>,
  generated: (name: string) => Secret | undefined,
  problems: Problems,
  before?: DigestRing,
  policies: Policies = new Policies(),
): Steps<DigestRing> {
  const entries = new Map<string, Entry>()
  const holders = new Map<string, Holder>()
  for (const name of Object.keys(keys)) {
    const key = keys[name]
    if (key === undefined) continue
    const holder = compileHolder(name, key, policies, before?.holderOf(name))
    holders.set(name, holder)
    for (const secret of key.secrets) {
      const digest = digestOf(secret, () => generated(name))
      if (digest === 'malformed') problems.error(['keys', name, 'secret'], 'malformed-secret', MALFORMED)
      else if (digest !== undefined) entries.set(digest, { digest, holder })
    }
    yield
  }
  return new DigestRing(entries, holders)
}

const MALFORMED = 'no client could send this key: keys are 1 to 512 printable ASCII characters'

/** What a key allows its holder; `config` is of the file, or of a key in the store. */
export function compileHolder(name: string, config: KeyConfig, policies: Policies, before?: Holder): Holder {
  const group = policies.groupOf(config)
  const { counted } = policies
  // Which models a caller with regions reaches is of this plan.
  const isSame = before?.config === config && before.group === group && before.counted === counted
  if (isSame && before.caller.regions === undefined) return before
  const { disabled, expires } = config
  const caller = policies.caller(name, config, before?.caller)
  return { config, caller, group, counted, disabled, expires: expires ?? Number.POSITIVE_INFINITY }
}

/** The name under which the data folder keeps the admin key: none that a caller's key can have. */
export const ADMIN_KEY = '@admin'

export function compileAdmin(
  { secret, ...rest }: AdminConfig,
  generated: (name: string) => Secret | undefined,
): AdminPlan {
  const digest = secret && digestOf(secret, () => generated(ADMIN_KEY))
  return { ...rest, digest: digest === 'malformed' ? undefined : digest }
}

/** Lower-case hex of the key's SHA-256; `undefined` where there is no key yet. */
function digestOf(key: KeySecret, generated: () => Secret | undefined): string | 'malformed' | undefined {
  if (key.type === 'digest') return key.sha256
  const value = (key.type === 'plain' ? key.secret : generated())?.reveal()
  if (value === undefined) return undefined
  return fold(value) === undefined ? 'malformed' : hash('sha256', value)
}
