import { isUtf8 } from 'node:buffer'
import type { Context } from './context.js'
import { type Document, spotAt } from './document.js'
import { parse, parsedBefore } from './parse.js'
import { preparsed } from './preparsed.js'
import type { Report } from './report.js'
import { checkSchema } from './schema-check.js'
import { Source } from './source.js'
import type { FileType } from './validators.js'

/** Largest configuration file. */
export const MAX_FILE_BYTES = 1024 * 1024

/** More text than {@link Context.budget} allows. */
export class TooMuchText extends Error {
  override readonly name = 'TooMuchText'
}

/** Shipped files that hold no problem, by path and type: they seldom change, and each load reads them all. */
const shippedDocuments = new Map<string, Document>()

/** Reads, decodes, parses and checks one file. `undefined` if it cannot be used; the report says why. */
export function openFile(
  path: string,
  type: FileType | 'any',
  shipped: boolean,
  context: Context,
): Document | undefined {
  const source = readSource(path, context, !shipped && type !== 'any')
  if (source === undefined) return undefined
  if (shipped && type !== 'any') return openShipped(source, type, context)
  context.budget.characters -= source.text.length
  if (context.budget.characters < 0) throw new TooMuchText(`${path} is too large to read`)
  return type === 'any' ? parse(source, false, context.report) : openOwn(source, type, context)
}

function open(source: Source, type: FileType, shipped: boolean, report: Report): Document | undefined {
  const document = parse(source, shipped, report)
  if (document !== undefined) checkSchema(document, type, report)
  return document
}

/** A file of the user's, which is parsed anew where it has changed since the last load. */
function openOwn(source: Source, type: FileType, { files, parsed, report }: Context): Document | undefined {
  const digest = files.digestOf(source.file)
  const before = parsed.find(source.file, type, digest)
  if (before !== undefined) return parsedBefore(source, before.value, false)
  const document = open(source, type, false, report)
  if (document !== undefined && isGood(document)) {
    parsed.keep(source.file, type, digest, document.tree.value, source.text.length)
  }
  return document
}

function openShipped(source: Source, type: FileType, { files, report }: Context): Document | undefined {
  const key = `${type} ${source.file}`
  const known = shippedDocuments.get(key)
  if (known?.source.text === source.text) return known
  const before = preparsed(source.file, type, files.digestOf(source.file))
  const document = before === undefined ? open(source, type, true, report) : parsedBefore(source, before.value, true)
  if (document !== undefined && isGood(document)) shippedDocuments.set(key, document)
  return document
}

function isGood({ tree, misfits }: Document): boolean {
  return tree.faults.length === 0 && misfits.size === 0
}

function readSource(path: string, { files, report }: Context, isKept: boolean): Source | undefined {
  const result = files.read(path, MAX_FILE_BYTES, isKept)
  if ('failure' in result) {
    const rule = result.failure === 'too-large' ? 'too-large' : 'unreadable-file'
    const message =
      result.failure === 'too-large'
        ? `the file is too large: ${result.reason}; move entries into files of their own, and list those under include`
        : `cannot read this file: ${result.reason}`
    report.add({ severity: 'error', rule, path: '', message, position: { file: path, line: 1, column: 1 }, length: 1 })
    return undefined
  }
  const decoded = decode(result.bytes)
  const source = new Source(path, decoded.text)
  if (!('at' in decoded)) return source
  const byte = `0x${decoded.byte.toString(16).toUpperCase().padStart(2, '0')}`
  const message = decoded.utf16
    ? 'the file is UTF-16; save it as UTF-8'
    : `the byte ${byte} is not UTF-8; save the file as UTF-8`
  // The line is not shown: broken text does not show whether it holds a secret.
  const { position, length } = spotAt(source, decoded.at, decoded.at + 1)
  report.add({ severity: 'error', rule: 'not-utf8', path: '', message, position, length })
  return undefined
}

const BYTE_ORDER_MARK = '\ufeff'

/** The text of a UTF-8 file without its byte order mark, or the first byte that is not UTF-8. */
type Decoded =
  | { readonly text: string }
  /** `text` has U+FFFD where bytes are broken; `at` is the first such place, in UTF-16 units. */
  | { readonly text: string; readonly at: number; readonly byte: number; readonly utf16: boolean }

/** @testonly */
export function decode(bytes: Buffer): Decoded {
  const whole = bytes.toString('utf8')
  const mark = whole.startsWith(BYTE_ORDER_MARK) ? 1 : 0
  const text = whole.slice(mark)
  if (isUtf8(bytes)) return { text }
  const { at, byte } = firstBroken(bytes, whole)
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  return { text, at: Math.max(0, at - mark), byte, utf16 }
}

/** The decoder puts U+FFFD where bytes are broken; up to the first of those, offsets in text and bytes go in step. */
function firstBroken(bytes: Buffer, text: string): { at: number; byte: number } {
  let offset = 0
  let from = 0
  for (let at = text.indexOf('\ufffd'); at !== -1; at = text.indexOf('\ufffd', from)) {
    offset += Buffer.byteLength(text.slice(from, at))
    const genuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!genuine) return { at, byte: bytes[offset] ?? 0 }
    offset += 3
    from = at + 1
  }
  return { at: 0, byte: bytes[0] ?? 0 }
}
