import { resolve } from 'node:path'
import type { Json } from '../core/json.js'
import type { UserModule } from '../core/user-module.js'
import type { Context } from './context.js'
import type { Site } from './document.js'

/** Largest file of a module. */
const MAX_MODULE_BYTES = 4 * 1024 * 1024

/** Whether a type is the path of a module. */
export function isModulePath(type: string): boolean {
  return /^\.{0,2}\//.test(type)
}

/**
 * A module of the user's own, whose path is written at `site`. It is read, so that a changed one is noticed, and not run. A module
 * that cannot be read is an error.
 */
export function readUserModule(
  type: string,
  options: Readonly<Record<string, Json>> | undefined,
  site: Site,
  { files, report }: Context,
): UserModule {
  const module = resolve(site.document.source.folder, type)
  const result = files.read(module, MAX_MODULE_BYTES)
  if (!('bytes' in result) && !report.unfilled.has(type)) {
    report.error('missing-module', site, `this module cannot be read: ${result.reason}`)
  }
  return { module, digest: files.digestOf(module), options: options ?? {} }
}
