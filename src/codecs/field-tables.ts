import type { Carry, FieldMapping } from '../core/fields.js'

type Words<S extends string> = S extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : S

/** Fields that are copied unchanged; `names` are separated by blanks. */
export function carried<S extends string>(names: S): Readonly<Record<Words<S>, 'carried'>> {
  return Object.fromEntries(names.split(' ').map(name => [name, 'carried'])) as Readonly<Record<Words<S>, 'carried'>>
}

/** `why` the field is left out. */
export const dropped = (why: string): Carry => ({ dropped: why })
/** `why` a request with the field is refused. */
export const refused = (why: string): Carry => ({ refused: why })
/** `how` the field is carried. */
export const approximated = (how: string): Carry => ({ approximated: how })

/**
 * The same entry for several members below one path. `names` are separated by blanks, members of a member follow it in
 * braces: `a b { c }` below `x.` is `x.a`, `x.b` and `x.b.c`; `b[] { c }` is `x.b` and `x.b[].c`.
 */
export function every(path: string, names: string, entry: FieldMapping): Readonly<Record<string, FieldMapping>> {
  const rows: Record<string, FieldMapping> = {}
  const paths = [path]
  let last = ''
  for (const word of names.split(' ')) {
    if (word === '{') paths.push(`${last}.`)
    else if (word === '}') paths.pop()
    else {
      last = `${paths.at(-1)}${word}`
      rows[last.replace(/\[\]$/, '')] = entry
    }
  }
  return rows
}
