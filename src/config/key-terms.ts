import type { KeyConfig } from '../core/config.js'
import type { Json } from '../core/json.js'
import type { Context } from './context.js'
import { gather } from './entries.js'
import { Files } from './files.js'
import { readKeys } from './keys.js'
import { ManagedSecrets } from './managed-secrets.js'
import { parsedBefore } from './parse.js'
import { ParsedFiles } from './parsed-files.js'
import { Report } from './report.js'
import { checkSchema } from './schema-check.js'
import { Source } from './source.js'
import { Variables } from './variables.js'

/** A secret that no one has: keys of the store have theirs elsewhere, and the schema wants one. */
const NO_SECRET = { hash: `sha256:${'0'.repeat(64)}` }

/** What the terms of a key mean, with what has no effect, or what is wrong with them, in one sentence each. */
type ReadTerms =
  | { readonly config: KeyConfig; readonly warnings: readonly string[] }
  | { readonly faults: readonly string[] }

/**
 * Reads the terms of a key that is not in a file, in the words of an entry of `keys`, by the same rules. `models` are for warnings.
 * Groups that the terms do not name are only for what is said of one that there is not: there may be very many of them.
 */
export function readKeyTerms(
  name: string,
  terms: Readonly<Record<string, Json>>,
  groups: Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'> = new Map(),
  regions: ReadonlySet<string> = new Set(),
  models: readonly string[] = [],
): ReadTerms {
  const report = new Report()
  const { group } = terms
  const named = typeof group !== 'string' ? [] : groups.has(group) ? [group] : [...groups.keys()]
  const known = Object.fromEntries(named.map(one => [one, {}]))
  const value = { version: 1, groups: known, keys: { [name]: { ...terms, secret: NO_SECRET } } }
  const document = parsedBefore(new Source('key', JSON.stringify(value)), value, false)
  checkSchema(document, 'gateway', report)
  const context: Context = {
    report,
    variables: new Variables({}),
    files: new Files(),
    parsed: new ParsedFiles(),
    secrets: 'leave',
    managed: new ManagedSecrets(new Map()),
    now: Date.now(),
    budget: { characters: 0 },
  }
  const entries = gather([document], 'keys', report)
  const config = readKeys(entries, gather([document], 'groups', report), models, context)[name]
  const own = `keys.${name}.`
  const messages = (severity: string): readonly string[] =>
    report
      .sorted()
      .filter(problem => problem.severity === severity)
      .map(({ path, message }) => `${path.startsWith(own) ? `${path.slice(own.length)}: ` : ''}${message}`)
  if (config === undefined || report.failed) return { faults: messages('error') }
  const reached = config.regions ?? []
  if (reached.length === 0 || reached.some(region => regions.has(region)))
    return { config, warnings: messages('warning') }
  return { faults: [`regions: no upstream is in ${reached.join(', ')}`] }
}
