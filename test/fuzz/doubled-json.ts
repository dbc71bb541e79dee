/** A JSON value with the members of objects as they stand, those of one name all of them. */
export type Doubled = { readonly members: readonly (readonly [string, Doubled])[] } | readonly Doubled[] | Scalar
type Scalar = string | number | boolean | null

/** Reads sound JSON text. */
export function readDoubled(text: string): Doubled {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  let at = 0
  const value = (): Doubled => {
    const token = tokens[at++] ?? ''
    if (token === '[') return list(']', value)
    if (token !== '{') return JSON.parse(token) as Scalar
    const member = (): readonly [string, Doubled] => {
      const name = String(JSON.parse(tokens[at] ?? ''))
      at += 2
      return [name, value()]
    }
    return { members: list('}', member) }
  }
  const list = <T>(close: string, read: () => T): T[] => {
    const items: T[] = []
    while (tokens[at] !== close) {
      items.push(read())
      if (tokens[at] === ',') at++
    }
    at++
    return items
  }
  return value()
}

/** Everything that any reader may find at a path, whichever of several members of one name it takes. */
export function readings(value: Doubled, [segment, ...rest]: readonly string[]): readonly Doubled[] {
  if (segment === undefined) return [value]
  if (Array.isArray(value)) {
    const items =
      segment === '*' ? value : [value[Number(segment)] ?? []].slice(0, Number(segment) < value.length ? 1 : 0)
    return items.flatMap(item => readings(item, rest))
  }
  if (typeof value !== 'object' || value === null || !('members' in value)) return []
  return value.members
    .filter(([name]) => segment === '*' || name === segment)
    .flatMap(([, inner]) => readings(inner, rest))
}
