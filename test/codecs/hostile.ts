import { isObject, type Json, type JsonObject } from '../../src/core/json.js'
import { fc } from '../helpers/property.js'

/** Values that no one expects where they are put. */
const JUNK: readonly Json[] = [
  ...[null, true, false, 0, -1, 1.5, 76, 1e308, -1e308, 2 ** 53, '', ' ', 'x', '{', '[]', 'null', '\u0000', '\ud800'],
  ...[[], {}, [[]], [null], [1], [''], [{}], [[{}]]],
  ...(JSON.parse(
    '[{"__proto__":{"a":1}},{"constructor":{"prototype":1}},{"toString":1,"length":-1},{"type":{}}]',
  ) as Json[]),
  ...[
    { type: 'text' },
    { type: 'text', text: 1 },
    { type: 'tool_use' },
    { type: 'message', content: {} },
    { text: null },
  ],
  ...[
    { type: 'function' },
    { role: 'tool' },
    { index: 76 },
    { url: 'data:;base64,' },
    { functionCall: null },
    { parts: 'x' },
  ],
  deep(500),
  ['__proto__', 'constructor', 'hasOwnProperty'],
]

function deep(levels: number): Json {
  let value: Json = 'bottom'
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { type: 'text', content: value }
  return value
}

/** One of the documents, with a few of its nodes taken away, doubled, or replaced by junk. */
export function hostile(documents: readonly Json[]): fc.Arbitrary<Json> {
  const edit = fc.record({
    at: fc.nat(),
    how: fc.constantFrom('replace', 'remove', 'double', 'rename'),
    junk: fc.constantFrom(...JUNK),
  })
  return fc.oneof(
    {
      weight: 9,
      arbitrary: fc.tuple(fc.constantFrom(...documents), fc.array(edit, { minLength: 1, maxLength: 4 })).map(edited),
    },
    { weight: 1, arbitrary: fc.oneof(fc.constantFrom(...JUNK), fc.jsonValue() as fc.Arbitrary<Json>) },
  )
}

export function hostileObject(documents: readonly Json[]): fc.Arbitrary<JsonObject> {
  return hostile(documents).map(document => (isObject(document) ? document : { body: document }))
}

interface Edit {
  readonly at: number
  readonly how: string
  readonly junk: Json
}

function edited([document, edits]: [Json, readonly Edit[]]): Json {
  const copy = structuredClone(document)
  for (const { at, how, junk } of edits) {
    const places = placesIn(copy)
    const place = places[at % places.length]
    if (place === undefined) return structuredClone(junk)
    change(place, how, structuredClone(junk))
  }
  return copy
}

interface Place {
  readonly holder: Record<string, Json> | Json[]
  readonly key: string | number
}

function placesIn(value: Json): Place[] {
  if (Array.isArray(value)) {
    const list = value as Json[]
    return list.flatMap((inner, key) => [{ holder: list, key }, ...placesIn(inner)])
  }
  if (!isObject(value)) return []
  return Object.keys(value).flatMap(key => [{ holder: value, key }, ...placesIn(value[key] as Json)])
}

function change({ holder, key }: Place, how: string, junk: Json): void {
  if (Array.isArray(holder)) {
    const at = Number(key)
    if (how === 'remove') holder.splice(at, 1)
    else if (how === 'double') holder.splice(at, 0, structuredClone(holder[at] as Json))
    else holder[at] = junk
    return
  }
  const name = String(key)
  if (how === 'rename') holder[`${name}_x`] = holder[name] as Json
  if (how === 'replace') holder[name] = junk
  if (how === 'remove' || how === 'rename') delete holder[name]
  if (how === 'double') holder[name] = [structuredClone(holder[name] as Json), structuredClone(holder[name] as Json)]
}
