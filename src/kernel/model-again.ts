import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import { type Edit, type Path, stringEdits } from '../wire/json-edit.js'

/** Where bodies may name the model that stands in the path once more. Source: the native protocol's document. */
const PLACES: readonly Path[] = [
  ['model'],
  ['requests', '*', 'model'],
  ['batch', 'model'],
  ['batch', 'inputConfig', 'requests', 'requests', '*', 'request', 'model'],
  ['batch', 'input_config', 'requests', 'requests', '*', 'request', 'model'],
  ['generateContentRequest', 'model'],
  ['generate_content_request', 'model'],
]

const MEMBER = '"model"'
const COLLECTION = 'models/'
const NONE: readonly Edit[] = []

/**
 * Edits that give the model the name that the upstream knows it by, wherever the body repeats the one in the path; every
 * other byte stays. Throws `invalid_parameter` where it names another model: whether the caller may use that one nobody has asked.
 */
export function renameAgain(bytes: Buffer, asked: string, name: string): readonly Edit[] {
  if (!bytes.includes(MEMBER)) return NONE
  return stringEdits(bytes, PLACES, (text, place) => {
    const prefix = checkedPrefix(text, asked, place)
    return name === asked ? undefined : prefix + name
  })
}

/** Throws as {@link renameAgain} does, of a body that has been parsed. */
export function checkAgain(document: JsonObject, asked: string): void {
  for (const place of PLACES) checkAt(document, place, [], asked)
}

function checkAt(value: Json | undefined, [step, ...rest]: Path, at: Path, asked: string): void {
  if (step === undefined) {
    if (typeof value === 'string') checkedPrefix(value, asked, at)
  } else if (step === '*') {
    const items: readonly Json[] = Array.isArray(value) ? value : []
    for (const [i, item] of items.entries()) checkAt(item, rest, [...at, String(i)], asked)
  } else if (isObject(value) && Object.hasOwn(value, step)) checkAt(value[step], rest, [...at, step], asked)
}

/** What stands before the model's name. */
function checkedPrefix(text: string, asked: string, place: Path): string {
  const prefix = text.startsWith(COLLECTION) && !asked.startsWith(COLLECTION) ? COLLECTION : ''
  if (text.slice(prefix.length) !== asked) throw another(place, asked)
  return prefix
}

function another(place: Path, asked: string): GatewayError {
  const param = place.reduce((path, segment) => (/^\d+$/.test(segment) ? `${path}[${segment}]` : `${path}.${segment}`))
  return new GatewayError('invalid_parameter', `'${param}' has to be the model of the path, '${asked}'.`, { param })
}
