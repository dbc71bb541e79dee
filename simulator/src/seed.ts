import { createHash } from 'node:crypto'

/** 2025-01-01T00:00:00Z. Every `created` of the simulator lies within the year that follows. */
export const EPOCH_SECONDS = 1_735_689_600
const YEAR_SECONDS = 31_536_000
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

type Part = string | number | Uint8Array

/**
 * Where everything that looks random in an answer comes from: a digest of the request. The same request gives the same
 * seed, and a seed gives the same ids, words and numbers for ever; no clock and no random source is asked.
 */
export class Seed {
  readonly #digest: Buffer

  constructor(...parts: readonly Part[]) {
    const hash = createHash('sha256')
    for (const part of parts) {
      const bytes = typeof part === 'object' ? part : Buffer.from(String(part))
      hash.update(`${bytes.length}:`).update(bytes)
    }
    this.#digest = hash.digest()
  }

  /** A seed of its own for one part of the answer. */
  fork(...labels: readonly (string | number)[]): Seed {
    return new Seed(this.#digest, ...labels)
  }

  /** A number in [0, 1). */
  fraction(): number {
    return this.#digest.readUInt32BE(0) / 2 ** 32
  }

  /** A whole number in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }

  /** One of a list that is not empty. */
  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0]
  }

  /** Lower-case hexadecimal digits, at most 64. */
  hex(length: number): string {
    return this.#digest.toString('hex').slice(0, length)
  }

  /** Letters and digits, at most 32. */
  letters(length: number): string {
    return Array.from(this.#digest.subarray(0, length), byte => ALPHABET[byte % ALPHABET.length]).join('')
  }

  /** Seconds since the epoch, within 2025. */
  created(): number {
    return EPOCH_SECONDS + (this.#digest.readUInt32BE(4) % YEAR_SECONDS)
  }
}

/**
 * An id that can be distinguished from a made-up one without any memory: 40 digits of the seed and 8 of a checksum over them.
 * So the simulator recognises the ids that it once gave, across restarts.
 */
export function stampedId(prefix: string, seed: Seed): string {
  const digits = seed.hex(40)
  return `${prefix}${digits}${stamp(prefix, digits)}`
}

/** Whether {@link stampedId} could have made this id. */
export function isStamped(prefix: string, id: string): boolean {
  if (!id.startsWith(prefix)) return false
  const digits = id.slice(prefix.length, -8)
  return digits.length === 40 && id.endsWith(stamp(prefix, digits))
}

function stamp(prefix: string, digits: string): string {
  return new Seed('stamp', prefix, digits).hex(8)
}
