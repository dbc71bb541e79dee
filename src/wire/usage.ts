import { isObject } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { EVERY, type Path } from './json-path.js'
import { PlacedValues } from './placed-values.js'

/** Whoever counts more tokens than this in one exchange has miscounted. */
const MAX_TOKENS = 1e12

/** Most objects that hold numbers of one protocol, of which the first ones count. */
const MAX_ROOTS = 31

const FIELDS = [
  'input',
  'output',
  'total',
  'cached',
  'cacheWrite',
  'reasoning',
  'inputAudio',
  'outputAudio',
  'seconds',
] as const satisfies readonly (keyof Usage)[]

/** Counts that have been found, by the index of their number; `undefined` where none has. */
export type Numbers = (number | undefined)[]

/** One number of a usage. It may stand at several places, of which the first that has it counts. */
interface UsageNumber {
  readonly field: keyof Usage
  readonly places: Path[]
}

/**
 * Where a protocol tells its usage. Paths of one field that end in the same two names are places of one number, such as
 * `usage.input_tokens` of an answer and `response.usage.input_tokens` of an event; other numbers of a field are added up.
 * What is not a whole number from 0 to 1e12 (seconds may be broken) does not count.
 */
export class UsagePlaces {
  /** The objects that hold the numbers, or the numbers themselves: none lies in another one. */
  readonly roots: readonly Path[]
  /** One of these names stands, quoted, in every document that tells a number. */
  readonly names: readonly Buffer[]
  readonly #numbers: readonly UsageNumber[]
  readonly #first: Step = stepOf()

  constructor(paths: UsagePaths) {
    this.#numbers = numbersOf(paths)
    for (const [index, { field, places }] of this.#numbers.entries()) {
      for (const [rank, path] of places.entries()) lead(this.#first, path).ends.push({ index, rank, field })
    }
    this.roots = rootsOf(this.#numbers.flatMap(({ places }) => places)).slice(0, MAX_ROOTS)
    this.names = [...new Set(this.roots.map(root => `"${root.at(-1)}"`))].map(name => Buffer.from(name))
  }

  /** Takes the numbers that a document tells and that are missing; how many these are. */
  fill(numbers: Numbers, document: unknown): number {
    const missing: Missing = { numbers, ranks: [], found: 0 }
    take(this.#first, document, missing)
    return missing.found
  }

  isComplete(numbers: Numbers): boolean {
    for (let index = 0; index < this.#numbers.length; index++) if (numbers[index] === undefined) return false
    return true
  }

  /** What the numbers come to; `undefined` where there are none. */
  total(numbers: Numbers): Usage | undefined {
    let usage: Counts | undefined
    for (let index = 0; index < this.#numbers.length; index++) {
      const count = numbers[index]
      const field = this.#numbers[index]?.field
      if (count === undefined || field === undefined) continue
      usage ??= {}
      usage[field] = (usage[field] ?? 0) + count
    }
    return usage
  }
}

type Counts = { -readonly [field in keyof Usage]: Usage[field] }

const PLACES = new WeakMap<UsagePaths, UsagePlaces>()

/** Made once for each protocol. */
export function usagePlaces(paths: UsagePaths): UsagePlaces {
  const known = PLACES.get(paths)
  if (known !== undefined) return known
  const made = new UsagePlaces(paths)
  PLACES.set(paths, made)
  return made
}

/** The tokens that an upstream counted in a parsed answer. */
export function usageOf(document: unknown, paths: UsagePaths): Usage | undefined {
  const places = usagePlaces(paths)
  const numbers: Numbers = []
  return places.fill(numbers, document) === 0 ? undefined : places.total(numbers)
}

/** Reads usage from a JSON document, however large, while it passes in pieces; nothing of it is held but what tells it. */
export class PassingUsage {
  readonly #places: UsagePlaces
  readonly #values: PlacedValues

  constructor(paths: UsagePaths) {
    this.#places = usagePlaces(paths)
    this.#values = new PlacedValues(this.#places.roots)
  }

  /** Whether the document has come to its end. */
  get isWhole(): boolean {
    return this.#values.isWhole
  }

  push(bytes: Buffer, start?: number, end?: number): void {
    this.#values.push(bytes, start, end)
  }

  /** Takes the numbers that it tells and that are missing. */
  fill(numbers: Numbers): void {
    this.#places.fill(numbers, this.document())
  }

  usage(): Usage | undefined {
    const numbers: Numbers = []
    this.fill(numbers)
    return this.#places.total(numbers)
  }

  /** What has been read of the document, as it stood there. */
  private document(): Members {
    const document = members()
    const { roots } = this.#places
    for (let index = 0; index < roots.length; index++) {
      const value = this.#values.value(index)
      if (value !== undefined) put(document, roots[index] ?? [], value)
    }
    return document
  }
}

function put(document: Members, path: Path, value: unknown): void {
  let at = document
  for (let depth = 0; depth < path.length - 1; depth++) {
    const name = path[depth] ?? ''
    const inner = (at[name] as Members | undefined) ?? members()
    at[name] = inner
    at = inner
  }
  at[path.at(-1) ?? ''] = value
}

type Members = Record<string, unknown>

/** Without a prototype: names are whatever a configuration says. */
function members(): Members {
  return Object.create(null) as Members
}

/** What two parts of one answer used together. */
export function sumOfUsage(one: Usage | undefined, other: Usage): Usage {
  if (one === undefined) return other
  const sum: Counts = { ...one }
  for (const field of FIELDS) {
    const count = other[field]
    if (count !== undefined) sum[field] = (sum[field] ?? 0) + count
  }
  return sum
}

function numbersOf(paths: UsagePaths): readonly UsageNumber[] {
  const numbers = new Map<string, UsageNumber>()
  for (const field of FIELDS) {
    for (const path of paths[field] ?? []) {
      if (path.length === 0) continue
      const key = JSON.stringify([field, ...path.slice(-2)])
      const known = numbers.get(key)
      if (known === undefined) numbers.set(key, { field, places: [path] })
      else known.places.push(path)
    }
  }
  return [...numbers.values()]
}

function rootsOf(places: readonly Path[]): readonly Path[] {
  const holders = places.map(path => path.slice(0, Math.max(1, path.length - 1)))
  return holders.filter(
    (one, index) =>
      !holders.some(
        (other, at) =>
          other.every((name, i) => name === one[i]) &&
          (other.length < one.length || (other.length === one.length && at < index)),
      ),
  )
}

/**
 * A member on the way to numbers. All places of all numbers are one tree of them, so that a document is walked once, and
 * only as far as it has what they have in common.
 */
interface Step {
  readonly names: string[]
  /** What follows each of the names. */
  readonly next: Step[]
  /** What follows `*`. */
  every: Step | undefined
  /** Numbers of which a place ends here; a lower rank goes first. */
  readonly ends: { readonly index: number; readonly rank: number; readonly field: keyof Usage }[]
}

function stepOf(): Step {
  return { names: [], next: [], every: undefined, ends: [] }
}

/** The step at the end of a path, which is made where there is none yet. */
function lead(first: Step, path: Path): Step {
  let at = first
  for (const name of path) {
    if (name === EVERY) {
      at.every ??= stepOf()
      at = at.every
      continue
    }
    const index = at.names.indexOf(name)
    const next = at.next[index] ?? stepOf()
    if (index < 0) {
      at.names.push(name)
      at.next.push(next)
    }
    at = next
  }
  return at
}

interface Missing {
  readonly numbers: Numbers
  /** Of those that this document has told. */
  readonly ranks: number[]
  found: number
}

/** Takes what stands at a step and behind it. Of several values that a `*` means, the first that is a count. */
function take(step: Step, value: unknown, missing: Missing): void {
  if (typeof value !== 'object' || value === null) {
    if (step.ends.length > 0) takeCount(step, value, missing)
    return
  }
  const { names, next, every } = step
  if (isObject(value)) {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      if (Object.hasOwn(value, name)) take(next[index] as Step, value[name], missing)
    }
  }
  if (every !== undefined) for (const inner of Object.values(value)) take(every, inner, missing)
}

function takeCount({ ends }: Step, value: unknown, missing: Missing): void {
  const { numbers, ranks } = missing
  for (const { index, rank, field } of ends) {
    const before = ranks[index]
    const isTold = before === undefined ? numbers[index] !== undefined : before <= rank
    if (isTold || !isCount(value, field)) continue
    if (before === undefined) missing.found++
    numbers[index] = value
    ranks[index] = rank
  }
}

/** Only seconds may be broken. */
function isCount(value: unknown, field: keyof Usage): value is number {
  return (
    typeof value === 'number' && (field === 'seconds' || Number.isInteger(value)) && value >= 0 && value <= MAX_TOKENS
  )
}
