/** Any JSON value, as `JSON.parse` returns it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json
}

/** Whether a JSON value is an object (not an array, not null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a file with one JSON document a line; other lines are left out. */
export function parseLines(file: Buffer): readonly JsonObject[] {
  return file.toString('utf8').split('\n').map(parseJson).filter(isObject)
}

/** The document that a text is; undefined where it is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
