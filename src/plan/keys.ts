import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import type { KeyConfig, KeySecret } from '../core/config.js'
import type { Caller, KeyRing, Refusal } from '../core/plan.js'
import type { Secret } from '../core/secret.js'
import { isName, NameSet } from './names.js'
import type { Problems } from './problems.js'

/** What a key can be: 1 to 512 characters of ASCII, none of them a control character. Anything else is not digested. */
const PRESENTABLE = /^[\x20-\x7e]{1,512}$/

interface Entry {
  readonly digest: Buffer
  readonly holder: Holder
}

interface Holder {
  readonly caller: Caller
  readonly disabled: boolean
  readonly expires: number
}

/** Stands in for the key that was not found, so that known and unknown keys take the same steps. */
const NOBODY: Entry = {
  digest: Buffer.alloc(32),
  holder: { caller: { name: '', models: [], may: () => false, strict: false }, disabled: true, expires: 0 },
}

/** Of this process alone: nobody outside can tell which strings share a fold. Odd, so that a fold loses no bits. */
const MULTIPLIER = randomInt(0x4000_0000, 0x7fff_ffff) | 1

/** Callers by the SHA-256 of their keys. */
export class DigestRing implements KeyRing {
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #holders: ReadonlyMap<string, Holder>
  /** Keys presented and found good, by their fold, so that a caller pays for its digest once; never more than keys. */
  readonly #verified = new Map<number, { readonly key: Buffer; readonly holder: Holder }>()

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
    if (!PRESENTABLE.test(presented)) return { refused: 'malformed' }
    const folded = fold(presented)
    const verified = this.#verified.get(folded)
    if (verified !== undefined && isSame(verified.key, presented)) return admit(verified.holder, now)
    const digest = hash('sha256', presented, 'buffer')
    const entry = this.#entries.get(digest.toString('hex')) ?? NOBODY
    const same = timingSafeEqual(entry.digest, digest)
    if (!same || entry === NOBODY) return { refused: 'unknown' }
    this.#verified.set(folded, { key: Buffer.from(presented, 'latin1'), holder: entry.holder })
    return admit(entry.holder, now)
  }

  /** The caller of that name, as if its key had been presented; `undefined` where no key has the name. */
  named(name: string, now: number): Caller | Refusal | undefined {
    const holder = this.#holders.get(name)
    return holder === undefined ? undefined : admit(holder, now)
  }
}

/** 32 bits over all characters; the time depends on the length alone. */
function fold(text: string): number {
  let folded = MULTIPLIER
  for (let i = 0; i < text.length; i += 1) folded = Math.imul(folded ^ text.charCodeAt(i), MULTIPLIER)
  return folded
}

function isSame(key: Buffer, text: string): boolean {
  return key.length === text.length && timingSafeEqual(key, Buffer.from(text, 'latin1'))
}

function admit(holder: Holder, now: number): Caller | Refusal {
  if (holder.disabled) return { refused: 'disabled' }
  if (now >= holder.expires) return { refused: 'expired' }
  return holder.caller
}

/** `generated` gives the key that the gateway made for that name; none where it is not to make any (`validate`). */
export function compileKeys(
  keys: Readonly<Record<string, KeyConfig>>,
  generated: (name: string) => Secret | undefined,
  problems: Problems,
): DigestRing {
  const entries = new Map<string, Entry>()
  const holders = new Map<string, Holder>()
  for (const [name, key] of Object.entries(keys)) {
    const holder = compileHolder(name, key)
    holders.set(name, holder)
    for (const secret of key.secrets) {
      const hex = digestOf(secret, () => generated(name))
      if (hex === 'malformed') problems.error(['keys', name, 'secret'], 'malformed-secret', MALFORMED)
      else if (hex !== undefined) entries.set(hex, { digest: Buffer.from(hex, 'hex'), holder })
    }
  }
  return new DigestRing(entries, holders)
}

const MALFORMED = 'no client could send this key: keys are 1 to 512 ASCII characters, none of them a control character'

function compileHolder(name: string, { models, disabled, expires, strict }: KeyConfig): Holder {
  const names = new NameSet(models)
  const caller: Caller = { name, models, may: model => isName(model) && names.has(model), strict }
  return { caller, disabled, expires: expires ?? Number.POSITIVE_INFINITY }
}

/** Lower-case hex of the key's SHA-256; `undefined` where there is no key yet. */
function digestOf(key: KeySecret, generated: () => Secret | undefined): string | 'malformed' | undefined {
  if (key.type === 'digest') return key.sha256
  const value = (key.type === 'plain' ? key.secret : generated())?.reveal()
  if (value === undefined) return undefined
  return PRESENTABLE.test(value) ? hash('sha256', value) : 'malformed'
}
