/** Where a value stands in a JSON document: member names, and decimal indices of array elements. */
export type Path = readonly string[]

/** Segment that stands for every element of an array and every member of an object. */
export const EVERY = '*'

/** Splits `a.b\.c.0` at its dots. A backslash takes dots, brackets and backslashes as they are. The empty text is the document itself. */
export function parsePath(dotted: string): Path {
  if (dotted === '') return []
  const path = ['']
  for (const [part] of dotted.matchAll(/\\[.\\[\]]|[\s\S]/g)) {
    if (part === '.') path.push('')
    else path[path.length - 1] += part.length === 2 ? part.charAt(1) : part
  }
  return path
}

/** How many segments lead to the last `*` of a path, it included; 0 where there is none. */
export function starsOf(path: Path): number {
  return path.lastIndexOf(EVERY) + 1
}
