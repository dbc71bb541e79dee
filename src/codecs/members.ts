import type { Json } from '../core/json.js'
import type { Left } from '../core/text.js'
import { compact, type Members, type Reader } from './read.js'

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** The members that are not undefined. */
export function given<T extends object>(members: T): Given<T> {
  return compact(members as Members) as Given<T>
}

export const UNKNOWN = 'the protocol has no such member'

/** Names every member that is neither known nor empty as left; `why` has the reasons of those that it knows. */
export function leaveOthers(
  reader: Reader,
  known: ReadonlySet<string>,
  left: Left[],
  why: Readonly<Record<string, string>> = {},
): void {
  for (const name of Object.keys(reader.value)) {
    if (known.has(name) || isEmpty(reader.value[name])) continue
    left.push({ field: reader.path(name), why: (Object.hasOwn(why, name) ? why[name] : undefined) ?? UNKNOWN })
  }
}

function isEmpty(value: Json | undefined): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}
