import { sep } from 'node:path'
import { quotedSuggestion, shownFile } from '../../config/problems.js'
import type { Problem } from '../../core/problems.js'

/** A file relative to the working directory where it lies below it, with slashes on every platform. */
export function fileName(file: string): string {
  return shownFile(file).split(sep).join('/')
}

/** Path, message and suggestion in one line of text. */
export function sentence({ path, message, suggestion }: Problem): string {
  const where = path === '' ? '' : `${path}: `
  return `${where}${message}${suggestion === undefined ? '' : `; did you mean ${quotedSuggestion(suggestion)}?`}`
}
