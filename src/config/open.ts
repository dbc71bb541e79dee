import type { Context } from './context.js'
import { decodedSource } from './decode.js'
import type { Document } from './document.js'
import { parse, parsedBefore } from './parse.js'
import { preparsed } from './preparsed.js'
import type { Report } from './report.js'
import { checkSchema } from './schema-check.js'
import type { Source } from './source.js'
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
  return decodedSource(path, result.bytes, report)
}
