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
    each(doc, args, (value, path) => {
      const found = model.find(value, path)
      return typeof found === 'number' ? model.set(value, path, String(found), 'always') : value
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
      const values = [...text.matchAll(/\{([^{}]+)\}/g)].map(([, from = '']) => model.find(value, split(from)))
      if (values.some(one => !['string', 'number', 'boolean'].includes(typeof one))) return value
      let nth = 0
      return model.set(
        value,
        split(path),
        text.replace(/\{[^{}]+\}/g, () => String(values[nth++])),
        'always',
      )
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
      if (typeof found !== 'string' || direction !== 'encode') return value
      return model.set(value, path, Buffer.from(found).toString('base64'), 'always')
    }),
  when: (doc, { if: tests, do: yes, else: no = [] }: WhenArgs) => {
    const holds = Object.entries(tests).every(([path, wanted]) => {
      const found = model.find(doc, split(path))
      return typeof wanted === 'object' ? (found !== undefined && found !== null) === wanted.present : found === wanted
    })
    return applied(doc, holds ? yes : no)
  },
}

function listed(value: unknown, path: Path): unknown {
  const found = model.find(value, path)
  return found === undefined || Array.isArray(found) ? value : model.set(value, path, [found], 'always')
}

interface WhenArgs {
  readonly if: Readonly<Record<string, { readonly present: boolean } | string | number | boolean>>
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
    const target = split(String(to))
    return change(
      value,
      from,
      target.map((segment, index) => (segment === '*' ? (from[index] ?? '') : segment)),
    )
  })
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
