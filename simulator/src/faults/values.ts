/** How the value of a fault is written, and how it is read; nothing where the text does not fit. */
export interface ValueKind<T> {
  /** For people: `a duration with its unit, as in 50ms or 2s`. */
  readonly written: string
  readonly read: (text: string) => T | undefined
}

const MEGABYTE_BYTES = 1024 * 1024
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KiB: 1024,
  MiB: MEGABYTE_BYTES,
  GiB: 1024 * MEGABYTE_BYTES,
}
const MAX_SIZE_BYTES = 16 * 1024 * MEGABYTE_BYTES
const MAX_DURATION_MS = 600_000

export const flag: ValueKind<true> = {
  written: 'nothing',
  read: text => (text === '' || text === 'true' ? true : undefined),
}

export const count = upTo(1_000_000)

/** Bounded so that an answer with many choices still fits the memory. */
export const length = upTo(20_000)

export const duration: ValueKind<number> = {
  written: 'a duration with its unit, as in 50ms or 2s, at most 10m',
  read: text => {
    const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? []
    if (digits === undefined) return undefined
    const milliseconds = Number(digits) * (unit === 'ms' ? 1 : unit === 's' ? 1000 : 60_000)
    return milliseconds <= MAX_DURATION_MS ? milliseconds : undefined
  },
}

export const size: ValueKind<number> = {
  written: 'a size in bytes, as in 1024, 64KiB or 200MiB, at most 16GiB',
  read: text => {
    const [, digits, unit = ''] = /^(\d{1,12})(B|KiB|MiB|GiB)?$/.exec(text) ?? []
    const bytes = Number(digits) * (UNITS[unit] ?? 1)
    return bytes <= MAX_SIZE_BYTES ? bytes : undefined
  },
}

export const share: ValueKind<number> = {
  written: 'a share from 0 to 1, as in 0.1',
  read: text => (/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(text) ? Number(text) : undefined),
}

export const status: ValueKind<number> = {
  written: 'a status from 200 to 599',
  read: text => (/^[2-5]\d\d$/.test(text) ? Number(text) : undefined),
}

export const closeCode: ValueKind<number> = {
  written: 'a close code from 1000 to 4999',
  read: text => (/^[1-4]\d{3}$/.test(text) ? Number(text) : undefined),
}

export const percent: ValueKind<number> = {
  written: 'a number from 0 to 100, or nothing',
  read: text => (text === '' ? 85 : /^\d{1,3}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined),
}

export const word: ValueKind<string> = {
  written: 'a word of up to 40 letters, digits, underscores and dashes',
  read: text => (/^[\w-]{1,40}$/.test(text) ? text : undefined),
}

export const url: ValueKind<string> = {
  written: 'a URL',
  read: text => (URL.canParse(text) ? new URL(text).href : undefined),
}

export function oneOf<T extends string>(...names: readonly T[]): ValueKind<T> {
  return { written: names.join(', ').replace(/, ([^,]*)$/, ' or $1'), read: text => names.find(name => name === text) }
}

/** Some of these words, with full stops between them. */
export function someOf(names: readonly string[]): ValueKind<string> {
  return {
    written: `some of ${names.join(', ')}, with full stops between them`,
    read: text => (text.split('.').every(word => names.includes(word)) ? text : undefined),
  }
}

function upTo(most: number): ValueKind<number> {
  return {
    written: `a number from 0 to ${most}`,
    read: text => (/^\d{1,7}$/.test(text) && Number(text) <= most ? Number(text) : undefined),
  }
}
