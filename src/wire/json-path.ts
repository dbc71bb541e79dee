/** Where a value stands in a JSON document: member names, and decimal indices of array elements. */
export type Path = readonly string[]

/** Splits `a.b\.c.0` at its dots: `\.` stands for a dot, `\\` for a backslash. The empty text is the document itself. */
export function parsePath(dotted: string): Path {
  if (dotted === '') return []
  const path = ['']
  for (const [part] of dotted.matchAll(/\\[.\\]|[\s\S]/g)) {
    if (part === '.') path.push('')
    else path[path.length - 1] += part.length === 2 ? part.charAt(1) : part
  }
  return path
}
