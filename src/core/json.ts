/** Any JSON value, as `JSON.parse` returns it, or as `parseExact` does. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject | ExactNumber

export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * A number that a double would not give back as it was written: `1234567890123456789`, `1.10`, `-0`, `1e400`. It passes from
 * one document into another with its digits; anyone who counts with it takes its `value`.
 */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get value(): number {
    return Number(this.text)
  }

  /** `jsonText` writes the digits; for `JSON.stringify` itself it is the double. */
  toJSON(): number | string {
    return ExactNumber.written(this)
  }

  /** How numbers are written at the moment. */
  static written: (number: ExactNumber) => number | string = number => number.value
}

/** Whether a JSON value is an object (not an array, not null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/** The document that a text is; undefined where it is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
