import { type Json, parseJson } from '../core/json.js'
import type { Transform } from '../core/transform.js'
import { asBuffer } from '../wire/bytes.js'
import { changeValues, findValue, type Path, parsePath, setValue } from '../wire/json-edit.js'
import { chain, members, text, type Verb } from './verb.js'

/** `{ path: "{a}-{b}" }`: writes a text made of values. */
export const template: Verb = {
  name: 'template',
  compile: args =>
    chain(
      members(args).map(([dotted, written]): Transform => {
        const target = parsePath(dotted)
        const pieces = piecesOf(text(written))
        return document => {
          const made = filled(pieces, path => scalarAt(document, path))
          return made === undefined ? document : setValue(document, target, JSON.stringify(made), 'always')
        }
      }),
    ),
}

/** `{ path: encode }` or `{ path: decode }`. */
export const base64: Verb = {
  name: 'base64',
  compile: args =>
    chain(
      members(args).map(([dotted, direction]): Transform => {
        const path = parsePath(dotted)
        const change = recoded(direction)
        return document =>
          changeValues(document, path, written => {
            const value = parseJson(written.toString('utf8'))
            const next = typeof value === 'string' ? change(value) : undefined
            return next === undefined ? undefined : JSON.stringify(next)
          })
      }),
    ),
}

/** Undefined where a text cannot be decoded. */
export function recoded(direction: Json): (value: string) => string | undefined {
  return direction === 'encode' ? encoded : decoded
}

/** Fixed text, or the path of a value. */
type Piece = string | Path

export function piecesOf(written: string): readonly Piece[] {
  return Array.from(written.matchAll(/\{\{|\}\}|\{([^{}]+)\}|[^{}]+/g), ([whole, path]): Piece => {
    if (path !== undefined) return parsePath(path)
    return whole === '{{' || whole === '}}' ? whole.charAt(0) : whole
  })
}

/** The pieces as one text; undefined where one of the values is missing. */
export function filled(pieces: readonly Piece[], read: (path: Path) => string | undefined): string | undefined {
  let made = ''
  for (const piece of pieces) {
    const value = typeof piece === 'string' ? piece : read(piece)
    if (value === undefined) return undefined
    made += value
  }
  return made
}

/** A text, a number as it is written, or a boolean. */
function scalarAt(document: Uint8Array, path: Path): string | undefined {
  const found = findValue(document, path)
  if (found === undefined) return undefined
  const written = asBuffer(document).toString('utf8', found.start, found.end)
  const value = parseJson(written)
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? written : undefined
}

function encoded(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64')
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const BASE64 = /^([A-Za-z0-9+/_-]*)={0,2}$/
/** Characters that hold three bytes. */
const GROUP_CHARS = 4

function decoded(value: string): string | undefined {
  const digits = BASE64.exec(value)?.[1]
  // One character alone holds no byte, and padding alone pads nothing.
  if (digits === undefined || digits.length % GROUP_CHARS === 1 || (digits === '' && value !== '')) return undefined
  try {
    return UTF8.decode(Buffer.from(value, 'base64'))
  } catch {
    return undefined
  }
}
