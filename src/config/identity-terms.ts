import { DEFAULTS } from '../core/defaults.generated.js'
import { type CallerMapping, type ClaimRule, IDENTITY_TERMS, type IdentityTerm, type Said } from '../core/identity.js'
import { isObject, type Json } from '../core/json.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import { warnOfUnknownModels } from './groups.js'
import { KnownModels } from './known-models.js'
import type { RawCallerLimits, RawGroup, RawIdentityCaller } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { readLimitsAt } from './scope-limits.js'
import { suggest } from './suggest.js'

/** What the rest of the file has that identities name. */
export interface Named {
  readonly groups: Entries<RawGroup>
  readonly keys: Entries<unknown>
  readonly models: readonly string[]
  /** Regions of upstreams. */
  readonly regions: ReadonlySet<string>
}

/** What the holder of a token may do. All values that the file itself has are checked as those of a key. */
export function readMapping(raw: RawIdentityCaller, site: Site, named: Named, context: Context): CallerMapping {
  const { key } = raw
  const terms: Partial<Record<IdentityTerm, Said>> = {}
  for (const term of IDENTITY_TERMS) {
    const written = raw[term] as Json | undefined
    if (written === undefined) continue
    if (key !== undefined) {
      const message = `the key has ${term} of its own: leave this out, or leave key out`
      context.report.error('terms-beside-key', site.child(term), message, { on: 'key' })
    }
    terms[term] = saidOf(written, site.child(term))
    for (const [value, place] of placed(written, site.child(term))) checkTerm(term, value, place, named, context)
  }
  if (key !== undefined) {
    for (const [name, place] of placed(key as Json, site.child('key'))) checkKey(String(name), place, named, context)
  }
  return {
    name: raw.name ?? DEFAULTS.identityCaller.name,
    ...(key === undefined ? {} : { key: saidOf(key as Json, site.child('key')) }),
    terms,
  }
}

function saidOf(written: Json, site: Site): Said {
  const isRule = isObject(written) && typeof written.claim === 'string'
  return isRule ? ruleOf(written as unknown as WrittenRule, site) : { value: written }
}

type WrittenRule = Omit<ClaimRule, 'map'> & { readonly map?: Readonly<Record<string, Json>> }

/** The rule as it counts: with its map in the order of the file. */
export function ruleOf({ map, ...rule }: WrittenRule, site: Site): ClaimRule {
  return map === undefined ? rule : { ...rule, map: inFileOrder(map, site.child('map')) }
}

const WHOLE_NUMBER = /^\d+$/

/** An object has its names that are numbers, such as those of groups, before all others. */
function inFileOrder(map: Readonly<Record<string, Json>>, { document, path }: Site): NonNullable<ClaimRule['map']> {
  const entries = Object.entries(map)
  const startOf = ([name]: readonly [string, Json]): number => document.tree.range([...path, name], 'key').start
  // Asking the tree parses the whole file again.
  if (!entries.some(([name]) => WHOLE_NUMBER.test(name))) return entries
  return entries.sort((one, other) => startOf(one) - startOf(other))
}

/** Every value that the file has, and where. */
function placed(written: Json, site: Site): readonly (readonly [Json, Site])[] {
  if (!isObject(written) || typeof written.claim !== 'string') return [[written, site]]
  const values = Object.entries(isObject(written.map) ? written.map : {})
  const mapped = values.map(([name, value]) => [value, site.child('map', name)] as const)
  return written.default === undefined ? mapped : [...mapped, [written.default, site.child('default')]]
}

function checkTerm(term: IdentityTerm, value: Json, site: Site, named: Named, context: Context): void {
  switch (term) {
    case 'limits':
      readLimitsAt(value as unknown as RawCallerLimits, site, context)
      break
    case 'models':
      warnOfUnknownModels(value as readonly string[], site, new KnownModels(named.models), context)
      break
    case 'group':
      checkName('group', String(value), site, named.groups.keys(), context)
      break
    case 'regions':
      for (const [index, region] of (value as readonly string[]).entries()) {
        checkRegion(region, site.child(index), named.regions, context)
      }
      break
    case 'priority':
  }
}

function checkKey(name: string, site: Site, { keys }: Named, context: Context): void {
  checkName('key', name, site, keys.keys(), context)
}

function checkName(
  what: 'group' | 'key',
  name: string,
  site: Site,
  names: Iterable<string>,
  { report }: Context,
): void {
  const all = [...names]
  if (all.includes(name)) return
  const meant = suggest(name, all)
  const known = meant === undefined ? listed(all) : undefined
  const message = `no ${what} is called ${quoted(name)}${known === undefined ? '' : `; there are: ${known}`}`
  report.error('dangling-reference', site, message, { meant: () => meant, of: `${what}s` })
}

function checkRegion(region: string, site: Site, known: ReadonlySet<string>, { report }: Context): void {
  if (known.has(region)) return
  const meant = suggest(region, known)
  const all = meant === undefined ? listed(known) : undefined
  const message = `no upstream is in the region ${quoted(region)}${all === undefined ? '' : `; there are: ${all}`}`
  report.warn('unknown-region', site, message, { meant: () => meant, of: 'upstreams' })
}
