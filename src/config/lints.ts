import { join } from 'node:path'
import type { Timeouts } from '../core/limits.js'
import type { RecordOverride } from '../core/recording.js'
import type { Context } from './context.js'
import { type Document, Site } from './document.js'
import { type Entries, sectionOf } from './entries.js'
import { shippedNames } from './kinds.js'
import type { ReadModel } from './models.js'
import type { RawKey, RawKind, RawModel, RawUpstream } from './raw.generated.js'
import { warnOfUnrecorded } from './recordings.js'
import { quoted } from './report.js'
import type { ReadRoute } from './routes.js'
import type { ReadUpstream } from './upstreams.js'

interface Linted {
  readonly main: Document
  readonly modelEntries: Entries<RawModel>
  readonly keyEntries: Entries<RawKey>
  readonly kindEntries: Entries<RawKind>
  readonly upstreamEntries: Entries<RawUpstream>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
  readonly routes: ReadonlyMap<string, ReadRoute>
  readonly timeouts: Timeouts
  /** Of the shipped files. */
  readonly root: string
  /** What the command line records. */
  readonly recorded: RecordOverride | undefined
}

/** Warns of what is valid and hardly meant. Nothing here depends on the environment. */
export function lint(linted: Linted, context: Context): void {
  warnOfPatterns(linted, context)
  warnOfUnusedUpstreams(linted, context)
  warnOfKinds(linted, context)
  warnOfTimeouts(linted, context)
  const { main, routes, recorded } = linted
  const names = [...new Set([...routes].map(([id, { config }]) => config.protocol ?? id))]
  warnOfUnrecorded(main, recorded, names, context)
}

/** What regular expressions have and names of models have not. `model-4.*` is a glob that makes sense. */
const REGEX_LIKE = /(?<!\d)\.[*+]|^\^|\$$|\||\\|\(\?|\[[^\]]+\][*+?]?/

function warnOfPatterns({ modelEntries, keyEntries }: Linted, { report }: Context): void {
  const warn = (name: string, site: Site, on: 'key' | 'value'): void => {
    if (!REGEX_LIKE.test(name)) return
    const message = `${quoted(name)} looks like a regular expression; names are globs, where only * is special: it matches any text`
    report.warn('regex-like-name', site, message, { on, meant: () => asGlob(name) })
  }
  for (const { name, site } of modelEntries.values()) warn(name, site, 'key')
  for (const { site, value } of keyEntries.values()) {
    for (const [index, pattern] of (value?.models ?? []).entries()) warn(pattern, site.child('models', index), 'value')
  }
}

/** The glob for a simple expression: `^model-.*$` → `model-*`. */
function asGlob(name: string): string | undefined {
  const glob = name
    .replace(/^\^/, '')
    .replace(/\$$/, '')
    .replaceAll(/\.[*+]/g, '*')
    .replaceAll('\\.', '.')
  return REGEX_LIKE.test(glob) ? undefined : glob
}

function warnOfUnusedUpstreams({ upstreamEntries, models, routes }: Linted, { report }: Context): void {
  const used = new Set<string | undefined>()
  for (const { config } of models.values()) for (const { upstream } of config.targets) used.add(upstream)
  for (const { config } of routes.values()) used.add(config.upstream)
  for (const { name, site } of upstreamEntries.values()) {
    if (used.has(name)) continue
    report.warn('unused-upstream', site, `no model and no route uses the upstream ${quoted(name)}`, { on: 'key' })
  }
}

function warnOfKinds({ kindEntries, upstreamEntries, root }: Linted, { report }: Context): void {
  const shippedKinds = shippedNames(join(root, 'routes/kinds'))
  const used = new Set<string>()
  for (const { value } of upstreamEntries.values()) {
    for (let kind = value?.kind; kind !== undefined && !used.has(kind); kind = kindEntries.get(kind)?.value?.kind) {
      used.add(kind)
    }
  }
  for (const { name, site } of kindEntries.values()) {
    if (shippedKinds.includes(name)) {
      const message = `this replaces the whole shipped kind ${quoted(name)}; choose another name to keep both`
      report.warn('overridden-kind', site, message, { on: 'key' })
    }
    if (!used.has(name)) report.warn('unused-kind', site, `no upstream has the kind ${quoted(name)}`, { on: 'key' })
  }
}

/** A time-out of the first byte that is longer than that of the whole, if both are written. */
function warnOfTimeouts({ main, timeouts, upstreams, models, routes }: Linted, { report }: Context): void {
  const written = sectionOf(main, 'timeouts')
  const shared = written?.first_byte === undefined ? undefined : timeouts.first_byte
  const warn = (own: Partial<Timeouts>, site: Site): void => {
    if (own.first_byte === undefined && own.total === undefined) return
    const [first = 0, total] = [own.first_byte ?? shared, own.total ?? timeouts.total]
    if (first <= total) return
    const member = own.first_byte === undefined ? 'total' : 'first_byte'
    const message = 'first_byte is longer than total, so it has no effect: total ends the exchange first'
    report.warn('late-timeout', site.child('timeouts', member), message, { on: 'key' })
  }
  if (written !== undefined) {
    warn({ total: timeouts.total, ...(shared === undefined ? {} : { first_byte: shared }) }, new Site(main, []))
  }
  for (const { config, site } of routes.values()) if (!config.shipped) warn(config.timeouts, site)
  for (const { config, sites } of upstreams.values()) if (sites[0] !== undefined) warn(config.timeouts, sites[0])
  for (const { config, site } of models.values()) warn(config.timeouts, site)
}
