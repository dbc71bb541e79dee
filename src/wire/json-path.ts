/** The path of a value in a JSON document: member names, and decimal indices of array elements. */
export type Path = readonly string[]

/** The segment that means every array element and every object member. */
export const EVERY = '*'

/** Splits `a.b\.c.0` at its dots. A backslash escapes dots, brackets and backslashes. Empty text is the document itself. */
export function parsePath(dotted: string): Path {
  if (dotted === '') return []
  const path = ['']
  for (const [part] of dotted.matchAll(/\\[.\\[\]]|[\s\S]/g)) {
    if (part === '.') path.push('')
    else path[path.length - 1] += part.length === 2 ? part.charAt(1) : part
  }
  return path
}

const ELEMENT = /^\[([^=]+)=(.+)\]$/

/** What the segment `[name=value]` says, which means every element of a list with such a member; only paths of usage have it. */
export function elementOf(segment: string): { readonly name: string; readonly value: string } | undefined {
  const [, name, value] = ELEMENT.exec(segment) ?? []
  return name === undefined || value === undefined ? undefined : { name, value }
}

/** Number of segments up to and including the last `*` of a path; 0 without one. */
export function starsOf(path: Path): number {
  return path.lastIndexOf(EVERY) + 1
}
