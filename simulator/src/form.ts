import { SimulatorError } from './errors.js'
import type { Json, JsonObject } from './json.js'

/** A file of a form. */
export interface FormFile {
  /** As written, without the brackets of a list. */
  readonly name: string
  readonly filename: string
  /** The media type as written, lower-case; empty where there is none. */
  readonly type: string
  readonly bytes: Buffer
}

interface Form {
  /** Text fields; a name that ends in `[]` or is repeated is a list. */
  readonly fields: JsonObject
  readonly files: readonly FormFile[]
}

export function isForm(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('multipart/') === true
}

/** Throws {@link SimulatorError} if the body is not a form. */
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

/** A part of a multipart body. */
export interface Part {
  readonly name: string
  /** Whether the part is a file, not a field, of a form. */
  readonly isFile: boolean
  readonly filename: string | undefined
  /** The media type in lower case, without parameters; undefined if the part names none. */
  readonly type: string | undefined
  readonly bytes: Buffer
}

const CRLF = '\r\n'

/** The parts of a multipart body (RFC 2046 §5.1, RFC 7578), or undefined if it is malformed or of another subtype. */
export function partsOf(body: Buffer, contentType = '', subtype = 'form-data'): readonly Part[] | undefined {
  const [, actual, quoted, bare] =
    /^\s*multipart\/([\w-]+)\b.*?;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare
  if (actual?.toLowerCase() !== subtype || boundary === undefined) return undefined
  const delimiter = Buffer.from(`${CRLF}--${boundary}`)
  const startsWithIt = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  let at = startsWithIt ? -2 : body.indexOf(delimiter)
  const parts: Part[] = []
  while (at !== -1) {
    const line = at + delimiter.length
    if (body.toString('latin1', line, line + 2) === '--') return parts
    const next = body.indexOf(delimiter, line)
    const part = next === -1 ? undefined : readPart(body.subarray(line, next))
    if (part === undefined) return undefined
    parts.push(part)
    at = next
  }
  return undefined
}

/** `bytes`: from the end of the boundary to the next one. */
function readPart(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf(CRLF + CRLF)
  if (end === -1) return undefined
  const headers = bytes.toString('utf8', 0, end).split(CRLF).slice(1)
  const header = (name: string): string | undefined =>
    headers
      .find(line => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim()
  const disposition = header('content-disposition') ?? ''
  const type = header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  return {
    name: parameter(disposition, 'name') ?? '',
    filename: parameter(disposition, 'filename'),
    isFile: /;\s*filename\*?=/i.test(disposition) || !/^(text\/.*|application\/json)?$/.test(type ?? ''),
    type,
    bytes: bytes.subarray(end + 4),
  }
}

function parameter(value: string, name: string): string | undefined {
  const [, quoted, bare] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]*))`, 'i').exec(value) ?? []
  return quoted?.replace(/\\(["\\])/g, '$1') ?? bare
}
