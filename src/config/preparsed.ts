import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import type { Json } from '../core/json.js'
import { packageRoot } from '../core/package-root.js'
import { withoutPrototypes } from './parsed-files.js'
import type { FileType } from './validators.js'

/** A shipped file as the build read it: without any problem, as a file of this type. */
interface Preparsed {
  readonly type: FileType
  /** sha256 of the file in hex. */
  readonly digest: string
  readonly value: Json
}

type PreparsedFiles = Readonly<Record<string, Preparsed>>

let known: PreparsedFiles | undefined

/**
 * The value of a shipped file, if it is still what the build parsed and checked (`scripts/preparse.mjs`): parsing all of them takes
 * a third of a start. Undefined where the file was edited, or the build did not see it.
 */
export function preparsed(file: string, type: FileType, digest: string): { value: Json } | undefined {
  const root = packageRoot()
  known ??= read(join(root, 'dist/preparsed.json'))
  const entry = known[relative(root, file).split(sep).join('/')]
  return entry?.digest === digest && entry.type === type ? { value: withoutPrototypes(entry.value) } : undefined
}

function read(file: string): PreparsedFiles {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}
