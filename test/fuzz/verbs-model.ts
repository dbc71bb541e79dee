import type { VerbConfig } from '../../src/core/config.js'
import * as model from '../wire/json-model.js'

/** What each verb means for the parsed value, `*` included; nothing here looks at bytes. Paths are split at their dots. */

type Path = readonly string[]
type Step = (doc: unknown, args: never) => unknown

const VERBS: Readonly<Record<string, Step>> = {
  set: (doc, args: Record<string, unknown>) => put(doc, args, 'always'),
  default: (doc, args: Record<string, unknown>) => put(doc, args, 'absent'),
  rename: (doc, args: Record<string, string>) => move(doc, args, model.rename),
  alias: (doc, args: Record<string, string>) =>
    move(doc, args, (value, from, to) => {
      const there = model.find(value, to)
      const isThere = there !== undefined && there !== null
      return isThere && model.find(value, from) !== undefined
        ? model.remove(value, from)
        : isThere
          ? value
          : model.rename(value, from, to)
    }),
  remove: (doc, args: readonly string[]) =>
    args.reduce<unknown>((value, path) => places(value, split(path)).reduceRight(model.remove, value), doc),
  keep: (doc, args: readonly string[]) => keep(doc, args.map(split)),
  wrap: (doc, args: Record<string, string>) =>
    each(doc, args, (value, path, name) => model.wrap(value, path, String(name))),
  cast: (doc, args: Record<string, string>) =>
    each(doc, args, (value, path, type) => {
      const found = model.find(value, path)
      const made = cast(String(type), found)
      return made === undefined ? value : model.set(value, path, made, 'always')
    }),
  map: (doc, args: Record<string, Record<string, unknown>>) =>
    each(doc, args, (value, path, table) => {
      const found = model.find(value, path)
      const isKnown =
        (typeof found === 'string' || typeof found === 'number') && Object.hasOwn(table as object, String(found))
      return isKnown ? model.set(value, path, (table as Record<string, unknown>)[String(found)], 'always') : value
    }),
  only: (doc, args: Record<string, readonly unknown[]>) =>
    Object.entries(args).reduce<unknown>((value, [path, list]) => {
      const out = places(value, split(path)).filter(place => !list.includes(model.find(value, place)))
      return out.reduceRight(model.remove, value)
    }, doc),
  template: (doc, args: Record<string, string>) =>
    Object.entries(args).reduce<unknown>((value, [path, text]) => {
      // Braces that are doubled stand for themselves.
      const plain = text.replaceAll('{{', '\u0001').replaceAll('}}', '\u0002')
      const values = [...plain.matchAll(/\{([^{}]+)\}/g)].map(([, from = '']) => model.find(value, split(from)))
      if (values.some(one => !['string', 'number', 'boolean'].includes(typeof one))) return value
      let nth = 0
      const filled = plain.replace(/\{[^{}]+\}/g, () => String(values[nth++]))
      return model.set(value, split(path), filled.replaceAll('\u0001', '{').replaceAll('\u0002', '}'), 'always')
    }, doc),
  append: (doc, args: Record<string, unknown>) =>
    Object.entries(args).reduce<unknown>((value, [path, added]) => {
      const found = model.find(value, split(path))
      if (found === undefined) return model.set(value, split(path), [added], 'absent')
      if (Array.isArray(found)) return model.set(value, split(path), [...found, added], 'always')
      const isText = typeof found === 'string' && typeof added === 'string'
      return isText ? model.set(value, split(path), found + added, 'always') : value
    }, doc),
  insert: (doc, args: Record<string, unknown>) =>
    Object.entries(args).reduce<unknown>((value, [path, added]) => {
      const [place, index] = [split(path).slice(0, -1), Number(split(path).at(-1))]
      const found = model.find(value, place)
      return Array.isArray(found) ? model.set(value, place, found.toSpliced(index, 0, added), 'always') : value
    }, doc),
  list: (doc, args: readonly string[]) =>
    args.reduce<unknown>((value, path) => each(value, { [path]: null }, listed), doc),
  join: (doc, args: Record<string, string>) =>
    each(doc, args, (value, path, between) => {
      const found = model.find(value, path)
      const isPlain = Array.isArray(found) && found.every(one => typeof one === 'string' || typeof one === 'number')
      return isPlain ? model.set(value, path, found.join(String(between)), 'always') : value
    }),
  base64: (doc, args: Record<string, string>) =>
    each(doc, args, (value, path, direction) => {
      const found = model.find(value, path)
      if (typeof found !== 'string') return value
      const made = direction === 'encode' ? Buffer.from(found).toString('base64') : decoded(found)
      return made === undefined ? value : model.set(value, path, made, 'always')
    }),
  split: (doc, args: Record<string, { readonly at: string; readonly into: readonly string[] }>) =>
    each(doc, args, (value, from, how) => {
      const { at, into } = how as { readonly at: string; readonly into: readonly string[] }
      const found = model.find(value, from)
      const parts = typeof found === 'string' ? found.split(at) : []
      if (parts.length !== into.length) return value
      return into.reduce<unknown>(
        (result, to, index) => model.set(result, matched(to, from), parts[index], 'always'),
        model.remove(value, from),
      )
    }),
  when: (doc, { if: tests, do: yes, else: no = [] }: WhenArgs) => {
    const holds = Object.entries(tests).every(([path, wanted]) => {
      return holdsFor(model.find(doc, split(path)), wanted)
    })
    return applied(doc, holds ? yes : no)
  },
}

function listed(value: unknown, path: Path): unknown {
  const found = model.find(value, path)
  return found === undefined || Array.isArray(found) ? value : model.set(value, path, [found], 'always')
}

function cast(type: string, value: unknown): unknown {
  if (type === 'string') return typeof value === 'number' ? String(value) : undefined
  const isNumeral = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)
  if (typeof value !== 'number' && !isNumeral) return undefined
  return type === 'integer' ? Math.round(Number(value)) : Number(value)
}

/** The text that base64 holds; `undefined` for other texts. */
function decoded(value: string): string | undefined {
  const bare = value.replace(/={1,2}$/, '')
  if (/[^\w+/-]/.test(bare) || bare.length % 4 === 1 || (bare === '' && value !== '')) return undefined
  const bytes = Buffer.from(bare.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
  return Buffer.from(bytes.toString('utf8')).equals(bytes) ? bytes.toString('utf8') : undefined
}

type Scalar = string | number | boolean

interface Condition {
  readonly present?: boolean
  readonly in?: readonly Scalar[]
  readonly matches?: readonly string[]
  readonly larger_than?: number
  readonly smaller_than?: number
}

function holdsFor(value: unknown, wanted: Scalar | readonly Scalar[] | Condition): boolean {
  if (typeof wanted !== 'object') return isOneOf(value, [wanted])
  if (Array.isArray(wanted)) return isOneOf(value, wanted as readonly Scalar[])
  const { present, in: list, matches, larger_than: low, smaller_than: high } = wanted as Condition
  const isThere = value !== undefined && value !== null
  const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  const fits = (pattern: string): boolean =>
    typeof value === 'string' && new RegExp(`^${pattern.replaceAll('*', '.*')}$`, 's').test(value)
  return (
    (present === undefined || present === isThere) &&
    (list === undefined || isOneOf(value, list)) &&
    (matches === undefined || matches.some(fits)) &&
    (low === undefined || (isNumber && Number(value) > low)) &&
    (high === undefined || (isNumber && Number(value) < high))
  )
}

/** Texts count for what they spell. */
function isOneOf(value: unknown, list: readonly Scalar[]): boolean {
  return list.some(one => one === value || (typeof value === 'string' && String(one) === value))
}

interface WhenArgs {
  readonly if: Readonly<Record<string, Scalar | readonly Scalar[] | Condition>>
  readonly do: readonly VerbConfig[]
  readonly else?: readonly VerbConfig[]
}

export function applied(doc: unknown, verbs: readonly VerbConfig[]): unknown {
  return verbs
    .flatMap(verb => Object.entries(verb))
    .reduce<unknown>((value, [name, args]) => VERBS[name]?.(value, args as never), doc)
}

function put(doc: unknown, args: Record<string, unknown>, when: 'always' | 'absent'): unknown {
  return each(doc, args, (value, path, set) => model.set(value, path, set, when))
}

function each(
  doc: unknown,
  args: Record<string, unknown>,
  change: (value: unknown, path: Path, argument: unknown) => unknown,
): unknown {
  return Object.entries(args).reduce(
    (value, [path, argument]) =>
      places(value, split(path)).reduce((inner, place) => change(inner, place, argument), value),
    doc,
  )
}

function move(doc: unknown, args: Record<string, string>, change: typeof model.rename): unknown {
  return each(doc, args, (value, from, to) => {
    return change(value, from, matched(String(to), from))
  })
}

/** The path with each `*` replaced by its match in another one. */
function matched(path: string, place: Path): Path {
  return split(path).map((segment, index) => (segment === '*' ? (place[index] ?? '') : segment))
}

/** The path with each `*` replaced by all that is there. */
function places(doc: unknown, path: Path): readonly Path[] {
  const star = path.indexOf('*')
  if (star < 0) return [path]
  const before = path.slice(0, star)
  const container = model.find(doc, before)
  if (typeof container !== 'object' || container === null) return []
  return Object.keys(container).flatMap(name => places(doc, [...before, name, ...path.slice(star + 1)]))
}

function keep(value: unknown, paths: readonly Path[]): unknown {
  if (paths.some(path => path.length === 0)) return value
  const parts = Object.entries(value as object).flatMap(([name, inner]) => {
    const further = paths.filter(([segment]) => segment === '*' || segment === name).map(path => path.slice(1))
    const isWhole = further.some(path => path.length === 0)
    if (further.length === 0 || (!isWhole && (typeof inner !== 'object' || inner === null))) return []
    return [[name, keep(inner, further)] as const]
  })
  return Array.isArray(value) ? parts.map(([, inner]) => inner) : Object.fromEntries(parts)
}

const split = (path: string): Path => path.split('.')
