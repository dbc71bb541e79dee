import { Glob } from './glob.js'
import { ruleUsed } from './rule-watch.js'

type Scalar = string | number | boolean

/** What a value has to be: all of this together. */
export interface Test {
  /** One of these. */
  readonly in?: readonly Scalar[]
  /** Fits one of these patterns with `*`. */
  readonly matches?: readonly string[]
  readonly larger_than?: number
  readonly smaller_than?: number
  /** Whether there is a value at all. */
  readonly present?: boolean
}

/** Conditions on a request: all of them have to hold. */
export interface When {
  readonly stream?: boolean
  readonly tools?: boolean
  readonly images?: boolean
  /** Of the input, as the gateway estimates them. */
  readonly tokens?: Test
  /** Globs over names of keys, and names of groups. */
  readonly key?: readonly string[]
  readonly group?: readonly string[]
  /** By lower-case name. */
  readonly header?: Readonly<Record<string, Test>>
  /** By dotted path; or fields of a form. */
  readonly body?: Readonly<Record<string, Test>>
}

/** What conditions may ask of a request. Each is read when it is first asked for. */
export interface Asked {
  readonly stream: boolean
  readonly tools: boolean
  readonly images: boolean
  readonly tokens: number
  readonly key: string
  /** From the inside out. */
  readonly groups: readonly string[]
  header(name: string): string | undefined
  body(path: string): unknown
}

/** Whether something is for such a request. */
export function isFor({ when }: { readonly when?: When }, asked: Asked): boolean {
  if (when === undefined) return true
  const holds = failing(when, asked) === undefined
  if (holds) ruleUsed(when)
  return holds
}

/** A condition that does not hold, as `stream`, `header.x-tier`; undefined: all hold. Those that are cheap to ask come first. */
export function failing(when: When, asked: Asked): string | undefined {
  if (when.stream !== undefined && when.stream !== asked.stream) return 'stream'
  if (when.key !== undefined && !when.key.some(one => globOf(one).matches(asked.key))) return 'key'
  if (when.group !== undefined && !when.group.some(one => asked.groups.includes(one))) return 'group'
  for (const name in when.header) {
    if (!passes(when.header[name], asked.header(name))) return `header.${name}`
  }
  if (when.tokens !== undefined && !passes(when.tokens, asked.tokens)) return 'tokens'
  if (when.tools !== undefined && when.tools !== asked.tools) return 'tools'
  for (const path in when.body) if (!passes(when.body[path], asked.body(path))) return `body.${path}`
  if (when.images !== undefined && when.images !== asked.images) return 'images'
  return undefined
}

/** Whether a value is what it has to be. */
export function passes(test: Test | undefined, value: unknown): boolean {
  if (test === undefined) return true
  const { in: values, matches, larger_than, smaller_than, present } = test
  const isThere = value !== undefined && value !== null
  if (present !== undefined && present !== isThere) return false
  if (values !== undefined && !values.some(one => equals(one, value))) return false
  if (matches !== undefined && !(typeof value === 'string' && matches.some(one => globOf(one).matches(value)))) {
    return false
  }
  if (larger_than === undefined && smaller_than === undefined) return true
  const isNumeral = typeof value === 'string' && value.trim() !== ''
  const number = typeof value === 'number' || isNumeral ? Number(value) : Number.NaN
  return (
    !(larger_than !== undefined && !(number > larger_than)) && !(smaller_than !== undefined && !(number < smaller_than))
  )
}

/** Headers and form fields are text: `"3"` there is 3. */
function equals(written: Scalar, value: unknown): boolean {
  return written === value || (typeof value === 'string' && String(written) === value)
}

/** As many as configurations write; a reload adds few. */
const GLOBS = new Map<string, Glob>()
const MAX_GLOBS = 10_000

function globOf(text: string): Glob {
  const known = GLOBS.get(text)
  if (known !== undefined) return known
  if (GLOBS.size >= MAX_GLOBS) GLOBS.clear()
  const glob = new Glob(text)
  GLOBS.set(text, glob)
  return glob
}

/** Conditions for people to read: `stream, tokens > 8000, header.x-tier in gold, silver`. */
export function whenText(when: When): string {
  const { stream, tools, images, tokens, key, group, header = {}, body = {} } = when
  return [
    ...[['stream', stream] as const, ['tools', tools] as const, ['images', images] as const].flatMap(([name, value]) =>
      value === undefined ? [] : [value ? name : `no ${name}`],
    ),
    ...(tokens === undefined ? [] : [testText('tokens', tokens)]),
    ...(key === undefined ? [] : [`key ${key.join(' or ')}`]),
    ...(group === undefined ? [] : [`group ${group.join(' or ')}`]),
    ...Object.entries(header).map(([name, test]) => testText(`header.${name}`, test)),
    ...Object.entries(body).map(([path, test]) => testText(`body.${path}`, test)),
  ].join(', ')
}

function testText(name: string, { in: values, matches, larger_than, smaller_than, present }: Test): string {
  return [
    ...(present === undefined ? [] : [present ? `${name} is present` : `${name} is absent`]),
    ...(values === undefined ? [] : [`${name} is ${values.map(one => JSON.stringify(one)).join(' or ')}`]),
    ...(matches === undefined ? [] : [`${name} matches ${matches.join(' or ')}`]),
    ...(larger_than === undefined ? [] : [`${name} > ${larger_than}`]),
    ...(smaller_than === undefined ? [] : [`${name} < ${smaller_than}`]),
  ].join(', ')
}
