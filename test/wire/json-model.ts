/** What each edit means for the parsed value. Values are plain JSON; nothing here looks at bytes. */
type Value = unknown
type Container = Record<string, Value> | Value[]

export function set(doc: Value, path: readonly string[], value: Value, when: 'always' | 'absent'): Value {
  return trySet(doc, path, value, when) ?? doc
}

/** `undefined` where there is no way to the place, or nothing to do. */
function trySet(doc: Value, path: readonly string[], value: Value, when: 'always' | 'absent'): Value | undefined {
  if (path.length === 0) return when === 'always' ? value : undefined
  const copy = clone(doc)
  let at: Value = copy
  for (const [depth, name] of path.entries()) {
    if (!isContainer(at)) return undefined
    const isLast = depth === path.length - 1
    const exists = has(at, name)
    if (exists ? isLast && when === 'absent' : Array.isArray(at)) return undefined
    if (isLast) put(at, name, value)
    else if (!exists) put(at, name, {})
    at = get(at, name)
  }
  return copy
}

export function remove(doc: Value, path: readonly string[]): Value {
  const copy = clone(doc)
  const parent = find(copy, path.slice(0, -1))
  const name = path.at(-1)
  if (name === undefined || !isContainer(parent) || !has(parent, name)) return copy
  if (Array.isArray(parent)) parent.splice(Number(name), 1)
  else delete parent[name]
  return copy
}

export function rename(doc: Value, from: readonly string[], to: readonly string[]): Value {
  if (from.length === 0 || to.length === 0 || JSON.stringify(from) === JSON.stringify(to)) return doc
  const value = find(doc, from)
  if (value === undefined) return doc
  return trySet(remove(doc, from), to, value, 'always') ?? doc
}

export function keep(doc: Value, names: readonly string[]): Value {
  const copy = clone(doc) as Record<string, Value>
  for (const name of Object.keys(copy)) if (!names.includes(name)) delete copy[name]
  return copy
}

export function wrap(doc: Value, path: readonly string[], name: string): Value {
  const value = find(doc, path)
  if (value === undefined) return doc
  const wrapper = {}
  put(wrapper, name, value)
  return set(doc, path, wrapper, 'always')
}

/** The value at a path; `undefined` where there is none. */
export function find(doc: Value, path: readonly string[]): Value {
  let at = doc
  for (const name of path) {
    if (!isContainer(at) || !has(at, name)) return undefined
    at = get(at, name)
  }
  return at
}

/** Every path to a value in the document. */
export function pathsOf(doc: Value): string[][] {
  if (!isContainer(doc)) return [[]]
  return [[], ...Object.keys(doc).flatMap(name => pathsOf(get(doc, name)).map(rest => [name, ...rest]))]
}

/** One text per value: members sorted, negative zero as zero. */
export function canonical(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isContainer(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map(name => `${JSON.stringify(name)}:${canonical(get(value, name))}`).join(',')}}`
}

function isContainer(value: Value): value is Container {
  return typeof value === 'object' && value !== null
}

function has(container: Container, name: string): boolean {
  if (Array.isArray(container)) return /^(0|[1-9]\d*)$/.test(name) && Number(name) < container.length
  return Object.hasOwn(container, name)
}

function get(container: Container, name: string): Value {
  return Object.getOwnPropertyDescriptor(container, name)?.value
}

function put(container: Container, name: string, value: Value): void {
  Object.defineProperty(container, name, { value, enumerable: true, configurable: true, writable: true })
}

function clone(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}
