import type { Options } from 'ajv'

/** What both sides agree on: draft-07, unknown keywords are errors, `format` is not checked. */
const COMMON = {
  strict: true,
  strictTypes: false,
  strictRequired: false,
  strictTuples: false,
  allowUnionTypes: true,
  validateFormats: false,
  verbose: true,
} as const satisfies Options

/** For the configuration's own files: every error at once. */
export const CONFIG_OPTIONS: Options = { ...COMMON, allErrors: true }

/** For requests: the first error suffices, and stopping there bounds the work. */
export const REQUEST_OPTIONS: Options = { ...COMMON, allErrors: false }

/** Keywords of our own in the configuration's schemas: words for editors and for problems. */
export const ANNOTATIONS: readonly string[] = [
  'errorMessage',
  'patternErrorMessage',
  'x-secret',
  'x-expected',
  'x-renamed',
  'x-feature',
  'defaultSnippets',
]
