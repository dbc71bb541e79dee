import { isObject, parseJson } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { withRest } from '../core/usage-rest.js'
import { EVERY, elementOf, type Path } from './json-path.js'
import { PlacedValues } from './placed-values.js'

/** A larger token count for one exchange is a mistake of the upstream. */
const MAX_TOKENS = 1e12

/** Max objects with numbers per protocol; the first ones count. */
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
  'searches',
] as const satisfies readonly (keyof Usage)[]

/** Counts so far, by index of the number; `undefined` if not found. */
export type Numbers = (number | undefined)[]

/** What a usage is the sum of; other fields are one number each. */
const SUMS: readonly (keyof Usage)[] = ['input', 'output']

/** One number of a usage. It may have several paths; the first with a value counts. */
interface UsageNumber {
  readonly field: keyof Usage
  readonly places: Path[]
}

/**
 * Where a protocol reports usage. The numbers of input are added up, as are those of output. Paths whose last two names are equal
 * are places of one number, such as `usage.input_tokens` of an answer and `response.usage.input_tokens` of an event, and so are all
 * paths of another field: what servers count is the same, but not what they call it. Only whole numbers from 0 to 1e12 count (seconds
 * may have fractions).
 */
export class UsagePlaces {
  /** The objects with the numbers, or the numbers themselves; none is inside another. */
  readonly roots: readonly Path[]
  /** Every document that reports a number contains one of these names in quotes. */
  readonly names: readonly Buffer[]
  readonly #numbers: readonly UsageNumber[]
  readonly #first: Step = stepOf()

  constructor(paths: UsagePaths) {
    this.#numbers = numbersOf(paths)
    for (const [index, { field, places }] of this.#numbers.entries()) {
      for (const [rank, path] of places.entries()) stepAlong(this.#first, path).ends.push({ index, rank, field })
    }
    this.roots = rootsOf(this.#numbers.flatMap(({ places }) => places)).slice(0, MAX_ROOTS)
    this.names = [...new Set(this.roots.map(root => `"${root.at(-1)}"`))].map(name => Buffer.from(name))
  }

  /** Takes the missing numbers from a document; returns how many it found. */
  fill(numbers: Numbers, document: unknown): number {
    const missing: Missing = { numbers, ranks: [], found: 0 }
    take(this.#first, document, missing)
    return missing.found
  }

  isComplete(numbers: Numbers): boolean {
    for (let index = 0; index < this.#numbers.length; index++) if (numbers[index] === undefined) return false
    return true
  }

  /** The usage that the numbers add up to; `undefined` if there are none. */
  total(numbers: Numbers): Usage | undefined {
    let usage: Counts | undefined
    for (let index = 0; index < this.#numbers.length; index++) {
      const count = numbers[index]
      const field = this.#numbers[index]?.field
      if (count === undefined || field === undefined) continue
      usage ??= {}
      usage[field] = (usage[field] ?? 0) + count
    }
    return usage && withRest(usage)
  }
}

type Counts = { -readonly [field in keyof Usage]: Usage[field] }

const PLACES = new WeakMap<UsagePaths, UsagePlaces>()

/** Built once per protocol. */
export function usagePlaces(paths: UsagePaths): UsagePlaces {
  const known = PLACES.get(paths)
  if (known !== undefined) return known
  const made = new UsagePlaces(paths)
  PLACES.set(paths, made)
  return made
}

/** The tokens that an upstream reports in a parsed answer. */
export function usageOf(document: unknown, paths: UsagePaths): Usage | undefined {
  const places = usagePlaces(paths)
  const numbers: Numbers = []
  return places.fill(numbers, document) === 0 ? undefined : places.total(numbers)
}

/**
 * The same from the bytes of a JSON object whose usage is in its last members, as in most answers: only those are parsed, so
 * that they are known to be sound up to the end. Undefined where there is none, or it may be elsewhere, too.
 */
export function usageAtEnd(object: Buffer, paths: UsagePaths): Usage | undefined {
  let start = object.length
  for (const name of usagePlaces(paths).names) {
    const at = object.indexOf(name)
    if (at >= 0 && at < start) start = at
  }
  if (start === object.length) return undefined
  // What begins with a member further inside has a brace too many.
  return usageOf(parseJson(`{${object.toString('latin1', start)}`), paths)
}

/** Reads usage from a JSON document of any size as it passes in chunks; it stores only what contains the usage. */
export class PassingUsage {
  readonly #places: UsagePlaces
  readonly #values: PlacedValues

  constructor(paths: UsagePaths) {
    this.#places = usagePlaces(paths)
    this.#values = new PlacedValues(this.#places.roots)
  }

  /** Whether the document is complete. */
  get isWhole(): boolean {
    return this.#values.isWhole
  }

  push(bytes: Buffer, start?: number, end?: number): void {
    this.#values.push(bytes, start, end)
  }

  /** Takes the missing numbers from it. */
  fill(numbers: Numbers): void {
    this.#places.fill(numbers, this.document())
  }

  usage(): Usage | undefined {
    const numbers: Numbers = []
    this.fill(numbers)
    return this.#places.total(numbers)
  }

  /** The values read so far, at their paths in a document. */
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

/** Without a prototype: names come from configuration. */
function members(): Members {
  return Object.create(null) as Members
}

/** Adds the usage of two parts of one answer. */
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
      const key = JSON.stringify(SUMS.includes(field) ? [field, ...path.slice(-2)] : field)
      const known = numbers.get(key)
      if (known === undefined) numbers.set(key, { field, places: [path] })
      else known.places.push(path)
    }
  }
  return [...numbers.values()]
}

function rootsOf(places: readonly Path[]): readonly Path[] {
  const holders = places.map(path => {
    const list = path.findIndex(name => elementOf(name) !== undefined)
    return path.slice(0, Math.max(1, list < 0 ? path.length - 1 : list))
  })
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
 * A member on a path to numbers. The paths of all numbers form one tree, so that a document is walked once, and only where
 * paths lead.
 */
interface Step {
  readonly names: string[]
  /** The next step by name. */
  readonly next: Step[]
  /** The next step for `*`. */
  every: Step | undefined
  /** The next steps for elements of a list, by a member. */
  readonly elements: { readonly name: string; readonly value: string; readonly step: Step }[]
  /** Numbers with a path that ends here; lower ranks take precedence. */
  readonly ends: { readonly index: number; readonly rank: number; readonly field: keyof Usage }[]
}

function stepOf(): Step {
  return { names: [], next: [], every: undefined, elements: [], ends: [] }
}

/** The step at the end of a path, created if missing. */
function stepAlong(first: Step, path: Path): Step {
  let at = first
  for (const name of path) {
    if (name === EVERY) {
      at.every ??= stepOf()
      at = at.every
      continue
    }
    const element = elementOf(name)
    if (element !== undefined) {
      const step = stepOf()
      at.elements.push({ ...element, step })
      at = step
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
  /** Numbers found in this document. */
  readonly ranks: number[]
  found: number
}

/** Takes the values at a step and below. Among several values that `*` matches, the first valid count wins. */
function take(step: Step, value: unknown, missing: Missing): void {
  if (typeof value !== 'object' || value === null) {
    if (step.ends.length > 0) takeCount(step, value, missing)
    return
  }
  const { names, next, every, elements } = step
  if (isObject(value)) {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      const inner = value[name]
      // Most documents lack most names; to ask whether one is inherited takes longer than to read it.
      if (inner !== undefined && Object.hasOwn(value, name)) take(next[index] as Step, inner, missing)
    }
  }
  if (every !== undefined)
    for (const inner of Array.isArray(value) ? value : Object.values(value)) take(every, inner, missing)
  if (elements.length === 0 || !Array.isArray(value)) return
  for (const { name, value: wanted, step: inside } of elements)
    for (const inner of value) if (isObject(inner) && inner[name] === wanted) take(inside, inner, missing)
}

function takeCount({ ends }: Step, value: unknown, missing: Missing): void {
  const { numbers, ranks } = missing
  for (const { index, rank, field } of ends) {
    const before = ranks[index]
    const isKnown = before === undefined ? numbers[index] !== undefined : before <= rank
    if (isKnown || !isCount(value, field)) continue
    if (before === undefined) missing.found++
    numbers[index] = value
    ranks[index] = rank
  }
}

/** Only seconds may have fractions. */
function isCount(value: unknown, field: keyof Usage): value is number {
  return (
    typeof value === 'number' && (field === 'seconds' || Number.isInteger(value)) && value >= 0 && value <= MAX_TOKENS
  )
}
