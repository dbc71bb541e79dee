import { type MemberRule, memberName } from '../core/members.js'

/** The longest spelling of one character of a name (`\u006d`), and separators. */
const MAX_BYTES_PER_CHAR = 8
/** Client keys whose result is cached. */
const MAX_KNOWN_KEYS = 256
/** Number of byte pairs; the low seven bits identify ASCII bytes. */
const PAIR_COUNT = 1 << 14

/**
 * Fast check whether a document may contain a member that rules refer to, so that documents without one, nearly all, are
 * not walked. It compares the top-level names and, for members with rules on their insides, the names in there.
 */
export class MemberKeys {
  /** By top-level name: whether all of it is meant. */
  readonly #top = new Map<string, boolean>()
  readonly #below = new Set<string>()
  /** Indexed by the first two bytes: whether a name may begin with them. */
  readonly #begins = new Uint8Array(PAIR_COUNT)
  /** Cached results for client keys: clients mostly send the same few. */
  readonly #known = new Map<string, 'all' | 'inside' | 'none'>()
  #longest = 0

  constructor(rules: readonly MemberRule[]) {
    for (const { path } of rules) {
      const [first = '', ...rest] = path
      const named = rest.filter(segment => segment !== '*')
      this.#top.set(first, this.#top.get(first) === true || named.length === 0)
      this.#learn(first)
      const last = named.at(-1)
      if (last === undefined) continue
      this.#below.add(last)
      this.#learn(last)
    }
  }

  /** For a top-level key without quotes: `all` if rules refer to it, `inside` if they refer to something inside it. */
  top(bytes: Buffer, start: number, end: number): 'all' | 'inside' | undefined {
    if (!this.mayBe(bytes, start, end)) return undefined
    return this.topName(written(bytes, start, end))
  }

  /** The same for a decoded key. */
  topName(key: string): 'all' | 'inside' | undefined {
    const known = this.#known.get(key)
    if (known !== undefined) return known === 'none' ? undefined : known
    const all = this.#top.get(memberName(key)) ?? this.#top.get('*')
    const found = all === undefined ? undefined : all ? 'all' : 'inside'
    if (this.#known.size < MAX_KNOWN_KEYS) this.#known.set(key, found ?? 'none')
    return found
  }

  /** Whether rules name this key inside such a member. */
  below(bytes: Buffer, start: number, end: number): boolean {
    return this.mayBe(bytes, start, end) && this.#below.has(memberName(written(bytes, start, end)))
  }

  /** Whether a text without escapes contains such a key anywhere. */
  belowIn(text: string): boolean {
    const plain = memberName(text)
    for (const name of this.#below) if (plain.includes(name)) return true
    return false
  }

  /** False if the first two bytes and the length of the key rule out every name. */
  mayBe(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > this.#longest) return false
    const [one = 0, two = 0] = [bytes[start], end - start > 1 ? bytes[start + 1] : 0]
    // Non-ASCII beginnings always need a full comparison.
    return one >= 0x80 || two >= 0x80 || this.#begins[(one << 7) | two] === 1
  }

  #learn(name: string): void {
    this.#longest = Math.max(this.#longest, name.length * MAX_BYTES_PER_CHAR)
    if (name === '*') {
      this.#begins.fill(1)
      this.#longest = Number.MAX_SAFE_INTEGER
      return
    }
    const odd = ['_', '-', '\\']
    const cases = (letter: string): readonly string[] => [letter, letter.toUpperCase(), ...odd]
    for (const one of cases(name.charAt(0))) {
      for (const two of odd.includes(one) ? ALL : cases(name.charAt(1))) {
        this.#begins[(one.charCodeAt(0) << 7) | two.charCodeAt(0)] = 1
      }
    }
  }
}

const ALL = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code))

function written(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end)
  return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text
}
