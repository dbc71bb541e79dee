import type { Json } from '../core/json.js'
import type { Position } from '../core/problems.js'
import type { Site } from './document.js'
import type { Files } from './files.js'
import type { ManagedSecrets } from './managed-secrets.js'
import type { ParsedFiles } from './parsed-files.js'
import { quoted, type Report } from './report.js'
import { interpolateText, type Variables } from './variables.js'

/**
 * What becomes of secrets that are not there: `leave` switches off what needs them, `assume` checks as if they were there,
 * `require` makes each an error.
 */
export type SecretsMode = 'leave' | 'assume' | 'require'

/** A secret that is taken to be gone, to see what rests on it. */
export interface WithoutSecret {
  /** A variable, or a file as it is written. */
  readonly name: string
  /** Where it is named: the load adds to them. */
  readonly places: { readonly path: string; readonly position: Position }[]
}

/** What every step of one load shares. */
export interface Context {
  readonly report: Report
  readonly variables: Variables
  readonly files: Files
  readonly parsed: ParsedFiles
  readonly secrets: SecretsMode
  readonly without?: WithoutSecret
  /** Secrets in managers. */
  readonly managed: ManagedSecrets
  /** Milliseconds since the epoch. */
  readonly now: number
  /** How much text of the user's may still be read. */
  readonly budget: { characters: number }
}

/**
 * A value with the variables in all its texts filled in. A variable that is not set, or leaves its text empty, is an error
 * at its place, and its text stays as it was written.
 */
export function interpolate<T>(value: T, site: Site, context: Context): T {
  return mentionsVariable(value as Json) ? (interpolateValue(value as Json, site, context) as T) : value
}

/** Most values do not, and need no copy. */
function mentionsVariable(value: Json): boolean {
  if (typeof value === 'string') return value.includes('${')
  if (typeof value !== 'object' || value === null) return false
  for (const inner of Object.values(value)) if (mentionsVariable(inner)) return true
  return false
}

function interpolateValue(value: Json, site: Site, context: Context): Json {
  if (typeof value === 'string') return interpolateString(value, site, context)
  if (Array.isArray(value)) return value.map((item, index) => interpolateValue(item, site.child(index), context))
  if (typeof value !== 'object' || value === null) return value
  const filled: Record<string, Json> = Object.create(null)
  for (const [name, inner] of Object.entries(value)) filled[name] = interpolateValue(inner, site.child(name), context)
  return filled
}

function interpolateString(text: string, site: Site, { report, variables }: Context): string {
  if (!text.includes('${')) return text
  const result = interpolateText(text, variables)
  if ('text' in result) return result.text
  report.unfilled.add(text)
  if (!('malformed' in result)) {
    const [name, fault] = 'unset' in result ? [result.unset, 'not set'] : [result.empty, 'empty']
    const message = `the variable ${name} is ${fault}; set it, or write a default: \${${name}:-default}`
    report.error('unset-variable', site, message)
  } else {
    report.error(
      'bad-variable',
      site,
      `expected \${NAME} or \${NAME:-default}; a literal ${quoted(result.malformed)} is written $\${`,
    )
  }
  return text
}
