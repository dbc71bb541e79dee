import { isObject } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { JsonCursor } from './json-cursor.js'

export { Tail } from './tail.js'

/** How many values of one name are looked at, from the end, until every number has been found. */
const ATTEMPTS = 8
/** Whoever counts more tokens than this in one exchange has miscounted. */
const LARGEST = 1e12

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

const COLON = 0x3a
const LETTER_N = 0x6e

interface Wanted {
  readonly field: keyof Usage
  /** From the value that is looked for to the number in it. */
  readonly path: readonly string[]
}

/**
 * Reads the tokens that an upstream counted from the end of its answer, which may begin anywhere. A number is looked for
 * by name, from the end: in a JSON answer by the first name of its path, in an event stream by the name of the object
 * that holds it, so that an event whose beginning is cut off will do. Numbers at several paths are added up. What is not a whole number from 0 to 1e12 (seconds may be broken) does not
 * count; `undefined` where nothing does. Never throws.
 */
export function readUsage(tail: Buffer, paths: UsagePaths, framing: 'json' | 'sse'): Usage | undefined {
  const usage: Counts = {}
  for (const [name, wanted] of wantedOf(paths)[framing]) {
    let missing = wanted
    for (const value of valuesFromEnd(tail, name)) {
      missing = missing.filter(({ field, path }) => {
        const count = follow(value, path)
        if (!isCount(count, field)) return true
        usage[field] = (usage[field] ?? 0) + count
        return false
      })
      if (missing.length === 0) break
    }
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Reads the tokens that an upstream counted from its parsed answer. The same numbers count as in {@link readUsage}. */
export function usageOf(document: unknown, paths: UsagePaths): Usage | undefined {
  return gathered(document, wantedOf(paths).all, undefined)
}

function gathered(value: unknown, { fields, members }: Wants, before: Counts | undefined): Counts | undefined {
  let usage = before
  for (const field of fields) {
    if (!isCount(value, field)) continue
    usage ??= {}
    usage[field] = (usage[field] ?? 0) + value
  }
  if (members.length === 0 || !isObject(value)) return usage
  for (const [name, inner] of members) usage = gathered(value[name], inner, usage)
  return usage
}

type Counts = { -readonly [field in keyof Usage]: Usage[field] }

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

/** What the paths of a protocol ask for, in the forms in which it is looked for. */
interface WantedOf {
  readonly all: Wants
  readonly json: ReadonlyMap<string, readonly Wanted[]>
  readonly sse: ReadonlyMap<string, readonly Wanted[]>
}

/** What is wanted of a value: the fields whose number it may be, and what is wanted of its members. */
interface Wants {
  readonly fields: (keyof Usage)[]
  readonly members: [string, Wants][]
}

const WANTED = new WeakMap<UsagePaths, WantedOf>()

/** Made once for each protocol. */
function wantedOf(paths: UsagePaths): WantedOf {
  const known = WANTED.get(paths)
  if (known !== undefined) return known
  const made = { all: tree(paths), json: byName(paths, 'json'), sse: byName(paths, 'sse') }
  WANTED.set(paths, made)
  return made
}

/** Paths that begin alike are one up to where they part. */
function tree(paths: UsagePaths): Wants {
  const root: Wants = { fields: [], members: [] }
  for (const field of FIELDS) {
    for (const path of paths[field] ?? []) {
      let at = root
      for (const name of path) {
        const known = at.members.find(([member]) => member === name)?.[1]
        const next: Wants = known ?? { fields: [], members: [] }
        if (known === undefined) at.members.push([name, next])
        at = next
      }
      at.fields.push(field)
    }
  }
  return root
}

/** What is wanted, by the name to look for. */
function byName(paths: UsagePaths, framing: 'json' | 'sse'): ReadonlyMap<string, readonly Wanted[]> {
  const groups = new Map<string, Wanted[]>()
  for (const field of FIELDS) {
    for (const path of paths[field] ?? []) {
      const index = framing === 'json' ? 0 : Math.max(0, path.length - 2)
      const name = path[index]
      if (name === undefined) continue
      const wanted = { field, path: path.slice(index + 1) }
      const group = groups.get(name)
      if (group === undefined) groups.set(name, [wanted])
      // Paths that only differ in what stands before the name lead to the same number.
      else if (!group.some(other => isSame(other, wanted))) group.push(wanted)
    }
  }
  return groups
}

function isSame(one: Wanted, other: Wanted): boolean {
  return one.field === other.field && one.path.join('.') === other.path.join('.')
}

/** The values of the members of that name, the last one first, without those that are null. */
function* valuesFromEnd(tail: Buffer, name: string): Generator<unknown> {
  const cursor = new JsonCursor(tail)
  const key = Buffer.from(JSON.stringify(name))
  let attempts = 0
  for (
    let at = tail.lastIndexOf(key);
    at >= 0 && attempts < ATTEMPTS;
    at = at === 0 ? -1 : tail.lastIndexOf(key, at - 1)
  ) {
    const colon = cursor.skipSpace(at + key.length)
    if (tail[colon] !== COLON) continue
    const start = cursor.skipSpace(colon + 1)
    if (tail[start] === LETTER_N) continue
    attempts++
    yield parseAt(cursor, start)
  }
}

function parseAt(cursor: JsonCursor, start: number): unknown {
  try {
    return JSON.parse(cursor.doc.toString('utf8', start, cursor.skipValue(start)))
  } catch {
    return undefined
  }
}

function follow(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return at
}

/** Only seconds may be broken. */
function isCount(value: unknown, field: keyof Usage): value is number {
  return typeof value === 'number' && (field === 'seconds' || Number.isInteger(value)) && value >= 0 && value <= LARGEST
}
