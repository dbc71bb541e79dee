import type { Problem } from '../../core/problems.js'
import { github } from './github.js'
import { json } from './json.js'
import { sarif } from './sarif.js'

/** Writes problems for a machine. No line break at the end. */
export type Format = (problems: readonly Problem[]) => string

export const FORMATS: Readonly<Record<'github' | 'json' | 'sarif', Format>> = { github, json, sarif }
