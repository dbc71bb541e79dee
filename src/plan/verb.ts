import { isObject, type Json } from '../core/json.js'
import type { Transform } from '../core/transform.js'

/** A verb of the configuration language: its arguments, as written, become edits of a document's bytes. */
export interface Verb {
  readonly name: string
  /** The schema of the configuration has accepted the arguments. */
  compile(args: Json): Transform
}

export function chain(steps: readonly Transform[]): Transform {
  const [only] = steps
  if (only !== undefined && steps.length === 1) return only
  const all = steps.flatMap(step => step.steps ?? [step])
  return Object.assign((document: Uint8Array) => all.reduce((bytes, step) => step(bytes), document), { steps: all })
}

export function members(args: Json): readonly [string, Json][] {
  if (!isObject(args)) throw new TypeError('a mapping was expected')
  return Object.entries(args)
}

export function texts(args: Json): readonly string[] {
  if (!Array.isArray(args)) throw new TypeError('a list was expected')
  return args.map(text)
}

export function text(value: Json): string {
  if (typeof value !== 'string') throw new TypeError('a text was expected')
  return value
}
