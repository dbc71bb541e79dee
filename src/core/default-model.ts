import { isObject } from './json.js'
import type { ModelPointer } from './route-settings.js'

/** Whether nothing names a model there: no value, null, or an empty text. */
export function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Whether upstreams receive the default model's name. Where words name models they receive the word, or nothing. */
export function writesDefault({ byDefault, values }: ModelPointer): boolean {
  return byDefault !== undefined && values === undefined
}

/** A body as request schemas are to see it: with the model that stands for none. Others come back as they are. */
export function withDefault(document: unknown, pointer: ModelPointer | undefined): unknown {
  if (pointer === undefined || !writesDefault(pointer) || !isObject(document)) return document
  const { from, name, byDefault } = pointer
  if ((from !== 'body' && from !== 'form') || !isLeftOut(document[name])) return document
  return { ...document, [name]: byDefault }
}
