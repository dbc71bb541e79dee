import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Path, TaskShape, TaskState } from '../../core/task.js'
import { findValue } from '../../wire/json-edit.js'
import { type Inline, inlineOf } from './inline.js'
import type { Artifact } from './record.js'
import { isExpired, stateOf } from './states.js'

/** An upstream's answer about a task, read by the declared paths. */
export interface Reading {
  readonly id: string | undefined
  /** Undefined if it is absent or an unknown word. */
  readonly state: TaskState | undefined
  /** Whether the word for the failure means that the task expired. */
  readonly expired: boolean
  readonly progress: number | undefined
  readonly artifacts: readonly Artifact[]
  /** Artefacts inside the answer itself; once they are stored they move to `artifacts`. */
  readonly inline: readonly Inline[]
  readonly error: { readonly code: string | undefined; readonly message: string } | undefined
  readonly fields: JsonObject
  /** Whether something other than an artefact proves that there is a result. */
  readonly proved: boolean
}

const MAX_ID_CHARS = 512
const MAX_URL_CHARS = 8192
const MAX_TEXT_CHARS = 2000
const MAX_CODE_CHARS = 128
/** Most that is kept of all fields together, characters of JSON. */
const MAX_FIELDS_CHARS = 64 * 1024

/**
 * Reads an answer by the declared paths. A value of the wrong form counts as absent. `bytes`: the document's source, needed
 * where the exact id matters.
 */
export function readAnswer(document: Json | undefined, shape: TaskShape, bytes?: Buffer): Reading {
  const first = (paths: readonly Path[]): Json | undefined => firstOf(document, paths)
  const word = first(shape.state)
  return {
    id: idOf(document, shape.id, bytes),
    state: stateOf(word, shape.states),
    expired: isExpired(word),
    progress: progressOf(first(shape.progress)),
    ...madeOf(document, shape),
    error: errorOf(document, shape),
    fields: fieldsOf(document, shape),
    proved: first(shape.proof) !== undefined,
  }
}

/** The first value at one of the paths that fits; by default, that is not null or empty. */
function firstOf(document: Json | undefined, paths: readonly Path[], fits = isThere): Json | undefined {
  for (const path of paths) {
    const value = valueAt(document, path)
    if (value !== undefined && fits(value)) return value
  }
  return undefined
}

function isThere(value: Json): boolean {
  return value !== null && value !== ''
}

function valueAt(document: Json | undefined, path: Path): Json | undefined {
  let value = document
  for (const name of path) {
    if (Array.isArray(value)) value = (value as readonly Json[])[Number(name)]
    else if (isObject(value) && Object.hasOwn(value, name)) value = value[name]
    else return undefined
  }
  return value
}

function textOf(value: Json | undefined, maxChars: number): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' && text.length <= maxChars ? text : undefined
}

/** Some upstreams use numeric ids with more digits than a double holds: those are taken from the bytes. */
function idOf(document: Json | undefined, paths: readonly Path[], bytes: Buffer | undefined): string | undefined {
  const value = firstOf(document, paths)
  if (typeof value !== 'number' || Number.isSafeInteger(value) || bytes === undefined)
    return textOf(value, MAX_ID_CHARS)
  const path = paths.find(one => valueAt(document, one) === value)
  const place = path && findValue(bytes, path)
  return place && textOf(bytes.toString('latin1', place.start, place.end), MAX_ID_CHARS)
}

/** In percent. A number, or a text such as `31%`. A fraction below 1 is a part of 1. */
function progressOf(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' ? Number(/^\s*(\d{1,3}(?:\.\d{1,9})?)\s*(?:%\s*)?$/.exec(value)?.[1]) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined
  return Math.min(100, Math.max(0, Math.floor(number > 0 && number < 1 ? number * 100 : number)))
}

function madeOf(document: Json | undefined, { result }: TaskShape): Pick<Reading, 'artifacts' | 'inline'> {
  const artifacts: Artifact[] = []
  const inline: Inline[] = []
  for (const [variant, paths] of result) {
    const text = textOf(firstOf(document, paths), Number.POSITIVE_INFINITY)
    const bytes = text === undefined ? undefined : inlineOf(text, MAX_URL_CHARS)
    if (bytes !== undefined) inline.push({ variant, ...bytes })
    else if (text !== undefined && text.length <= MAX_URL_CHARS) artifacts.push({ variant, url: text })
  }
  return { artifacts, inline }
}

function errorOf(document: Json | undefined, { error }: TaskShape): Reading['error'] {
  const isText = (value: Json): boolean => typeof value === 'string' && value !== ''
  const code = firstOf(document, error.code, value => isText(value) || typeof value === 'number')
  const message = firstOf(document, error.message, isText)
  if (code === undefined && message === undefined) return undefined
  return {
    code: textOf(code, MAX_CODE_CHARS),
    message: String(message ?? code).slice(0, MAX_TEXT_CHARS),
  }
}

function fieldsOf(document: Json | undefined, shape: TaskShape): JsonObject {
  const fields: Record<string, Json> = {}
  let left = MAX_FIELDS_CHARS
  for (const [name, paths] of shape.fields) {
    const value = firstOf(document, paths)
    if (value === undefined) continue
    left -= JSON.stringify(value).length
    if (left >= 0) fields[name] = value
  }
  return fields
}

/** Why an upstream rejected a task with a success status. */
export interface Verdict {
  readonly code: string
  readonly message: string | undefined
  /** The upstream may accept it later. */
  readonly busy: boolean
}

/** Undefined if the upstream accepted the task, or declares no verdicts. */
export function verdictOf(document: Json | undefined, { verdict }: TaskShape): Verdict | undefined {
  if (verdict === undefined) return undefined
  const said = firstOf(document, verdict.at)
  if (said === undefined) return undefined
  const code = String(said)
  if (verdict.accepted.has(code)) return undefined
  const message = textOf(firstOf(document, verdict.message), MAX_TEXT_CHARS)
  return { code: code.slice(0, MAX_CODE_CHARS), message, busy: verdict.busy.has(code) }
}
