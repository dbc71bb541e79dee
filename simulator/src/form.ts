import { SimulatorError } from './errors.js'
import type { Json, JsonObject } from './json.js'
import { type Part, partsOf } from './multipart.js'

/** A file of a form. */
export interface FormFile {
  /** As written, without the brackets of a list. */
  readonly name: string
  readonly filename: string
  /** The media type as written, lower-case; empty where there is none. */
  readonly type: string
  readonly bytes: Buffer
}

export interface Form {
  /** Text fields; a name that ends in `[]`, or stands several times, is a list. */
  readonly fields: JsonObject
  readonly files: readonly FormFile[]
}

export function isForm(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('multipart/') === true
}

/** Throws {@link SimulatorError} where the body is no form. */
export function parseForm(body: Buffer, contentType: string | undefined): Form {
  const parts = partsOf(body, contentType)
  if (parts === undefined) throw new SimulatorError(400, 'We could not parse the form of your request.')
  return {
    fields: fieldsOf(parts.filter(part => !part.isFile)),
    files: parts
      .filter(part => part.isFile)
      .map(({ name, filename = '', type = '', bytes }) => ({ name: bare(name), filename, type, bytes })),
  }
}

function fieldsOf(fields: readonly Part[]): JsonObject {
  const found: Record<string, Json> = Object.create(null)
  for (const { name, bytes } of fields) {
    const value = bytes.toString('utf8')
    const member = bare(name)
    const before = found[member]
    if (Array.isArray(before)) before.push(value)
    else if (before !== undefined) found[member] = [before, value]
    else found[member] = name === member ? value : [value]
  }
  return found
}

function bare(name: string): string {
  return name.endsWith('[]') ? name.slice(0, -2) : name
}

const READERS = {
  number: (text: string): Json => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text),
  boolean: (text: string): Json => (/^(true|1)$/i.test(text) ? true : /^(false|0)$/i.test(text) ? false : text),
} as const

/** A form's fields as JSON has them: those named here read as numbers or as booleans, empty ones left out. */
export function typed(fields: JsonObject, types: Readonly<Record<string, keyof typeof READERS>>): JsonObject {
  const entries = Object.entries(fields).filter(([, value]) => value !== '')
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const type = types[name]
      return [name, type === undefined || typeof value !== 'string' ? value : READERS[type](value)]
    }),
  )
}
