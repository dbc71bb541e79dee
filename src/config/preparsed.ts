import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../core/json.js'
import { packageRoot } from '../core/package-root.js'
import { type ParsedBefore, ParsedFiles } from './parsed-files.js'
import type { FileType } from './validators.js'

let known: ParsedFiles | undefined

/**
 * The value of a shipped file, if it is still what the build parsed and checked (`scripts/preparse.mjs`): parsing all of them takes
 * a third of a start. Undefined where the file was edited, or the build did not see it.
 */
export function preparsed(file: string, type: FileType, digest: string): { readonly value: Json } | undefined {
  known ??= new ParsedFiles(read(packageRoot()))
  return known.find(file, type, digest)
}

function read(root: string): ParsedBefore {
  try {
    const files: object = JSON.parse(readFileSync(join(root, 'dist/preparsed.json'), 'utf8'))
    return new Map(Object.entries(files).map(([path, file]) => [join(root, path), file]))
  } catch {
    return new Map()
  }
}
