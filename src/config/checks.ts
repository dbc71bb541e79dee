import type { CheckConfig } from '../core/check.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import { Glob } from '../core/glob.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import { KnownModels } from './known-models.js'
import type { RawCheck } from './raw.generated.js'
import { quoted } from './report.js'
import { readDuration } from './settings.js'
import { suggest } from './suggest.js'
import { isModulePath, readUserModule } from './user-module.js'
import { readWhen } from './when.js'

/** What checks may mention, by names: routes as `METHOD /path`, models with globs, groups. */
interface Known {
  readonly routes: ReadonlyMap<string, unknown>
  readonly models: ReadonlyMap<string, unknown>
  readonly groups: Readonly<Record<string, unknown>>
}

const MAX_TIMEOUT_MS = 60_000

/** `checks`, in the order in which they are asked. */
export function readChecks(main: Document, known: Known, context: Context): readonly CheckConfig[] {
  const whole = new Site(main, ['checks'])
  return Object.entries(sectionOf(main, 'checks') ?? {}).map(([name, written]) =>
    readCheck(name, written, whole.child(name), known, context),
  )
}

function readCheck(name: string, written: RawCheck, site: Site, known: Known, context: Context): CheckConfig {
  const { timeout, ...raw } = written
  const { type, options, routes, models, when, when_it_fails } = interpolate(raw, site, context)
  if (!isModulePath(type) && !context.report.unfilled.has(type)) {
    context.report.error(
      'bad-value',
      site.child('type'),
      'this variable is not the path of a module, such as ./my-check.mjs',
    )
  }
  checkNames(routes ?? [], text => [...known.routes.keys()].some(route => new Glob(text).matches(route)), {
    ...{ site: site.child('routes'), what: 'route', known: known.routes.keys() },
    report: context.report,
  })
  const all = new KnownModels([...known.models.keys()])
  checkNames(models ?? [], text => all.has(text), {
    ...{ site: site.child('models'), what: 'model', known: known.models.keys() },
    report: context.report,
  })
  const condition = readWhen(when, site.child('when'), context)
  for (const [at, group] of (condition.when?.group ?? []).entries()) {
    if (Object.hasOwn(known.groups, group) || context.report.unfilled.has(group)) continue
    const place = site.child('when', 'group', at)
    const meant = (): string | undefined => suggest(group, Object.keys(known.groups))
    context.report.error('dangling-reference', place, `no group is called ${quoted(group)}`, { meant })
  }
  const time = timeout === undefined ? DEFAULTS.check.timeout : readDuration(timeout, site.child('timeout'), context)
  if (time > MAX_TIMEOUT_MS) {
    context.report.error('bad-value', site.child('timeout'), `a check has at most ${MAX_TIMEOUT_MS / 1000}s`)
  }
  return {
    ...{ name, ...readUserModule(type, options, site.child('type'), context) },
    ...(routes === undefined ? {} : { routes }),
    ...(models === undefined ? {} : { models }),
    ...condition,
    ...{ timeout: time, when_it_fails: when_it_fails ?? DEFAULTS.check.when_it_fails },
  }
}

/** A check that concerns nothing would be thought to protect something. */
function checkNames(
  written: readonly string[],
  isKnown: (text: string) => boolean,
  {
    site,
    what,
    known,
    report,
  }: Pick<Context, 'report'> & {
    readonly site: Site
    readonly what: string
    readonly known: Iterable<string>
  },
): void {
  for (const [at, text] of written.entries()) {
    if (report.unfilled.has(text) || isKnown(text)) continue
    const meant = (): string | undefined => suggest(text, known)
    report.error('dangling-reference', site.child(at), `no ${what} matches ${quoted(text)}`, { meant })
  }
}
