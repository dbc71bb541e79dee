import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ErrorObject } from 'ajv'
import { packageRoot } from '../core/package-root.js'

/** A compiled schema. After a call that returned `false`, `errors` tells why. */
export interface Validator {
  (value: unknown): boolean
  errors?: readonly ErrorObject[] | null
}

/** What a file may be: `gateway` the main file, `routes` a file that it includes or that is shipped, `kind` a kind, `prices` a list of prices, `test` tests of a configuration. */
export type FileType = 'gateway' | 'routes' | 'kind' | 'prices' | 'test'

let loaded: Readonly<Record<FileType, Validator>> | undefined

/** The validator of a type of file, compiled ahead of time by `npm run generate`. */
export function fileValidator(type: FileType): Validator {
  loaded ??= load(join(packageRoot(), 'schemas/generated/config.generated.cjs'))
  return loaded[type]
}

/** Generated validators are CommonJS: ajv's standalone output calls `require` even as an ES module. */
const load: (file: string) => Readonly<Record<FileType, Validator>> = createRequire(import.meta.url)
