import { Secret } from '../../core/secret.js'

/**
 * A piece of a configuration as threads can hand it over: a `Secret`, which they would empty, as a set of its text, and an
 * object without a prototype, which they would give one, as a map. A configuration holds no sets and maps itself.
 */
export class Parcel {
  readonly content: unknown
  /** How many values it holds. */
  readonly size: number

  constructor(value: unknown) {
    const count = { size: 0 }
    this.content = wrap(value, count)
    this.size = count.size
  }
}

function wrap(value: unknown, count: { size: number }): unknown {
  count.size++
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Secret) return new Set([value.reveal()])
  if (Array.isArray(value)) return value.map(item => wrap(item, count))
  const members = Object.entries(value).map(([name, inner]) => [name, wrap(inner, count)] as const)
  return Object.getPrototypeOf(value) === null ? new Map(members) : Object.fromEntries(members)
}

/** What a {@link Parcel} was made of. */
export function unwrap(content: unknown): unknown {
  if (typeof content !== 'object' || content === null) return content
  if (content instanceof Set) return new Secret(String([...content][0]))
  if (Array.isArray(content)) return content.map(unwrap)
  if (!(content instanceof Map)) return Object.fromEntries(Object.entries(content).map(([k, v]) => [k, unwrap(v)]))
  const bare: Record<string, unknown> = Object.create(null)
  for (const [name, inner] of content) bare[name] = unwrap(inner)
  return bare
}
