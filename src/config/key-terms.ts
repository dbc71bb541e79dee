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

/** What the terms of a key mean, or what is wrong with them, in one sentence each. */
type ReadTerms = { readonly config: KeyConfig } | { readonly faults: readonly string[] }

/** Reads the terms of a key that is not in a file, in the words of an entry of `keys`, by the same rules. */
export function readKeyTerms(
  name: string,
  terms: Readonly<Record<string, Json>>,
  groups: Iterable<string> = [],
  regions: ReadonlySet<string> = new Set(),
): ReadTerms {
  const report = new Report()
  const known = Object.fromEntries([...groups].map(group => [group, {}]))
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
  const config = readKeys(gather([document], 'keys', report), gather([document], 'groups', report), [], context)[name]
  if (config !== undefined && !report.failed) {
    const reached = config.regions ?? []
    if (reached.length === 0 || reached.some(region => regions.has(region))) return { config }
    return { faults: [`regions: no upstream is in ${reached.join(', ')}`] }
  }
  const own = `keys.${name}.`
  const faults = report.sorted().filter(({ severity }) => severity === 'error')
  return {
    faults: faults.map(({ path, message }) => `${path.startsWith(own) ? `${path.slice(own.length)}: ` : ''}${message}`),
  }
}
