import { dirname, relative, resolve } from 'node:path'
import { withSlashes } from './platform.js'

const ADDRESS = /^(?:https?|s3|git\+(?:https?|ssh|file)):\/\//

/** Whether a configuration is at an address, and not on this machine. */
export function isAddress(source: string): boolean {
  return ADDRESS.test(source)
}

/** An address as it is; a path from the working directory, absolute. */
export function placeOf(source: string): string {
  return isAddress(source) ? source : resolve(source)
}

/** Where relative paths of a document begin: its folder; of one from an address, the working directory. */
export function folderOf(file: string): string {
  return isAddress(file) ? process.cwd() : dirname(file)
}

/** The name of a file in a configuration, the same on every machine: empty for the source itself, relative to it for others. */
export function nameIn(source: string, file: string): string {
  return file === source || isAddress(file) ? '' : withSlashes(relative(folderOf(source), file))
}

/** As it may be shown: the query of an address may be a credential. */
export function shownSource(source: string): string {
  return isAddress(source) ? source.replace(/\?[^#]*/, '') : source
}
