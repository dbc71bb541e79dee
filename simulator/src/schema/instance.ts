import { isObject, type Json, type JsonObject } from '../json.js'
import type { Seed } from '../seed.js'
import { type Hints, hinted, NO_HINTS, numberFor, stringFor } from './scalars.js'
import { bound, MAX_PARTS, resolve, settle, strings, typeOf } from './settle.js'

const FULL_DEPTH = 5
const FULL_NODES = 500
const MAX_NODES = 2000
const MAX_ITEMS = 200
/** Names that are made and are there already. */
const MAX_COLLISIONS = 16
/** Characters that a value takes from its schema as they are: names, `const` and `enum`. */
const MAX_COPIED_CHARS = 1_000_000
/** Characters at the end of a description in which bounds are looked for. */
const MAX_BOUNDS_CHARS = 200

/** What the schema has no finite value for, within the budget. */
const IMPOSSIBLE = Symbol('impossible')
type Made = Json | typeof IMPOSSIBLE

/**
 * A value that fits a JSON Schema: every property is filled in, down to a depth and a size where only what is required
 * remains. Understands types, enum, const, required, bounds of numbers, strings and arrays, items and prefixItems,
 * minProperties, patternProperties and propertyNames, allOf, anyOf, oneOf, `$ref` within the document, the usual formats, simple
 * patterns, and bounds in words. The size is bounded for every schema; a schema that no such value fits gives `null`.
 */
export function instanceOf(schema: Json, seed: Seed, hints: Hints = NO_HINTS): Json {
  const made = new Maker(schema).make(schema, { seed, hints, depth: 0, open: [] })
  return made === IMPOSSIBLE ? null : made
}

interface Place {
  readonly seed: Seed
  readonly hints: Hints
  readonly depth: number
  /** References being followed below the full depth: meeting one again there means that no end would come. */
  readonly open: readonly JsonObject[]
}

class Maker {
  readonly #root: Json
  readonly #parts = { left: MAX_PARTS }
  #nodes = 0
  #copied = 0

  constructor(root: Json) {
    this.#root = root
  }

  make(schema: Json, place: Place): Made {
    this.#nodes += 1
    if (this.#nodes > MAX_NODES || schema === false) return IMPOSSIBLE
    if (!isObject(schema)) return 'anything'
    const plain = settle({ ...describedBounds(schema), ...schema }, this.#root, this.#parts)
    if (this.#parts.left < 0) return IMPOSSIBLE
    const { $ref: reference, anyOf, oneOf } = plain
    if (typeof reference === 'string') return this.#follow(plain, reference, place)
    const choices = anyOf ?? oneOf
    if (Array.isArray(choices) && choices.length > 0) return this.#choose(plain, choices, place)
    return this.#value(plain, place)
  }

  #follow(schema: JsonObject, reference: string, place: Place): Made {
    const target = resolve(reference, this.#root)
    if (!isObject(target)) return this.make(target ?? true, place)
    if (place.open.includes(target)) return IMPOSSIBLE
    const { $ref: _, ...beside } = schema
    const open = this.#isFull(place) ? place.open : [...place.open, target]
    return this.make({ ...target, ...beside }, { ...place, depth: place.depth + 1, open })
  }

  #choose(schema: JsonObject, choices: readonly Json[], place: Place): Made {
    const { anyOf: _, oneOf: __, ...base } = schema
    for (const choice of choices) {
      const made = this.make(isObject(choice) ? { ...base, allOf: [choice] } : choice, place)
      if (made !== IMPOSSIBLE) return made
    }
    return IMPOSSIBLE
  }

  #value(schema: JsonObject, place: Place): Made {
    const { const: fixed, enum: listed } = schema
    if (fixed !== undefined) return this.#copy(fixed)
    if (Array.isArray(listed) && listed.length > 0) return this.#copy(listed[place.seed.below(listed.length)] ?? null)
    switch (typeOf(schema)) {
      case 'object':
        return this.#object(schema, place)
      case 'array':
        return this.#array(schema, place)
      case 'string':
        return stringFor(schema, place.seed)
      case 'integer':
        return numberFor(schema, place.seed, true)
      case 'number':
        return numberFor(schema, place.seed, false)
      case 'boolean':
        return place.seed.below(2) === 0
      default:
        return null
    }
  }

  #object(schema: JsonObject, place: Place): Made {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const required = strings(schema.required)
    const optional = this.#isFull(place) ? Object.keys(properties) : []
    const room = Math.max(required.length, bound(schema.maxProperties, optional.length))
    const object: Record<string, Json> = Object.create(null)
    for (const name of [...new Set([...required, ...optional])].slice(0, room)) {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined
      const hasRoom = this.#copy(name) !== IMPOSSIBLE
      const made = hasRoom ? this.#property(own ?? schema.additionalProperties ?? true, name, place) : IMPOSSIBLE
      if (made !== IMPOSSIBLE) object[name] = made
      else if (required.includes(name)) return IMPOSSIBLE
    }
    return this.#fill(schema, object, place)
  }

  /** Adds properties with names of its own: as many as are missing, and one to a map, which has no other properties. */
  #fill(schema: JsonObject, object: Record<string, Json>, place: Place): Made {
    const { patternProperties, propertyNames, additionalProperties } = schema
    const [patterned] = isObject(patternProperties) ? Object.entries(patternProperties) : []
    const isMap = patterned !== undefined || (isObject(additionalProperties) && !isObject(schema.properties))
    const least = Math.min(bound(schema.minProperties, 0), MAX_ITEMS)
    const wished = Math.max(least, isMap && this.#isFull(place) ? Math.min(1, bound(schema.maxProperties, 1)) : 0)
    const names = patterned === undefined ? propertyNames : { pattern: patterned[0] }
    let size = Object.keys(object).length
    let collisions = 0
    for (let tries = 1; size < wished && collisions < MAX_COLLISIONS; tries += 1) {
      const name = isObject(names)
        ? this.make({ type: 'string', ...names }, inner(place, `name ${tries}`))
        : `key_${tries}`
      if (typeof name !== 'string') break
      if (name in object) {
        collisions += 1
        continue
      }
      const made = this.make(patterned?.[1] ?? additionalProperties ?? true, inner(place, name))
      if (made === IMPOSSIBLE || this.#copy(name) === IMPOSSIBLE) break
      object[name] = made
      size += 1
    }
    return size < least ? IMPOSSIBLE : object
  }

  #property(schema: Json, name: string, place: Place): Made {
    const plain = isObject(schema) ? settle(schema, this.#root, this.#parts) : schema
    const value = hinted(isObject(plain) ? plain : {}, place.hints.get(name))
    return value ?? this.make(plain, inner(place, name))
  }

  #array(schema: JsonObject, place: Place): Made {
    const { prefixItems, items, minItems, maxItems, uniqueItems } = schema
    const fixed = [prefixItems, items].find(each => Array.isArray(each)) ?? []
    const rest = (Array.isArray(items) ? schema.additionalItems : items) ?? true
    const least = bound(minItems, 0)
    const wished = Math.max(least, this.#isFull(place) ? Math.max(1, fixed.length) : 0)
    const length = Math.min(wished, bound(maxItems, MAX_ITEMS), MAX_ITEMS)
    const made: Json[] = []
    const texts = new Set<string>()
    for (let index = 0; made.length < length && index < length * 16; index += 1) {
      const item = this.make(fixed[made.length] ?? rest, inner(place, index))
      if (item === IMPOSSIBLE) return made.length >= least ? made : IMPOSSIBLE
      if (uniqueItems !== true || isNew(item, texts)) made.push(item)
    }
    return made
  }

  #copy(value: Json): Made {
    if (this.#copied > MAX_COPIED_CHARS) return IMPOSSIBLE
    this.#copied += typeof value === 'string' ? value.length : JSON.stringify(value).length
    return this.#copied > MAX_COPIED_CHARS ? IMPOSSIBLE : value
  }

  /** Whether what is optional is filled in here. */
  #isFull(place: Place): boolean {
    return place.depth < FULL_DEPTH && this.#nodes < FULL_NODES
  }
}

function inner(place: Place, label: string | number): Place {
  return { ...place, seed: place.seed.fork(label), hints: NO_HINTS, depth: place.depth + 1 }
}

function isNew(value: Json, texts: Set<string>): boolean {
  const before = texts.size
  return texts.add(JSON.stringify(value)).size > before
}

const BOUND = /\b((?:min|max)(?:imum|Items|Length)): (-?\d[\d.e+-]*)/g

/**
 * Bounds written at the end of a description, such as `{minItems: 3, maxItems: 3}`. Clients write them there for servers that
 * enforce only part of JSON Schema; models read them.
 */
function describedBounds({ description }: JsonObject): JsonObject {
  if (typeof description !== 'string' || !description.endsWith('}')) return {}
  const end = description.slice(-MAX_BOUNDS_CHARS)
  const words = end.slice(end.lastIndexOf('{'))
  const bounds = [...words.matchAll(BOUND)].map(([, name = '', value]): [string, Json] => [name, Number(value)])
  return Object.fromEntries(bounds.filter(([, value]) => Number.isFinite(value)))
}
