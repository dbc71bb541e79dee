import type { ModelConfig, TargetConfig } from '../core/config.js'
import { Glob, isGlob } from '../core/glob.js'
import { isObject, type Json } from '../core/json.js'
import type { Fallbacks } from '../core/strategy.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import { readModelHealth } from './health.js'
import { readHedge } from './hedge.js'
import { readCanary, readMirror } from './mirror.js'
import { placeAt } from './placed-rules.js'
import type { RawModel, RawModelWithTargets, RawTarget, RawUpstream } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { readScopeLimits } from './scope-limits.js'
import { readRetry, readTimeouts } from './settings.js'
import { readStrategy } from './strategy.js'
import { readStreamContract } from './stream-contract.js'
import { suggest } from './suggest.js'
import { readVerbs } from './verbs.js'
import { readWhen } from './when.js'

/** The form of an upstream's name; the schema reports anything else. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** A model and where its targets are written. */
export interface ReadModel {
  readonly config: ModelConfig
  readonly site: Site
  readonly targets: readonly Site[]
}

/** Models with their targets spelled out, in the order of the files. */
export function readModels(
  entries: Entries<RawModel>,
  upstreams: Entries<RawUpstream>,
  context: Context,
): ReadonlyMap<string, ReadModel> {
  const models = new Map<string, ReadModel>()
  for (const { name, site, value, written } of entries.values()) {
    if (value === undefined) {
      checkWritten(written, site, upstreams, context)
      continue
    }
    const raw = interpolate(value, site, context)
    for (const target of targetsOf(raw, site)) checkTarget(name, target, upstreams, context)
    checkListed(name, raw, site, context)
    models.set(name, readModel(name, raw, site, context))
  }
  return models
}

/** The upstreams of a model in which something else is wrong, if they can be identified. */
function checkWritten(written: Json | undefined, site: Site, upstreams: Entries<RawUpstream>, context: Context): void {
  if (Array.isArray(written)) {
    for (const [index, item] of written.entries()) checkWritten(item, site.child(index), upstreams, context)
  } else if (isObject(written)) {
    checkWritten(
      written.targets ?? written.upstream,
      site.child('targets' in written ? 'targets' : 'upstream'),
      upstreams,
      context,
    )
  } else if (typeof written === 'string' && NAME.test(written)) {
    checkUpstream(written, site, upstreams, context)
  }
}

function readFallbacks(fallbacks: Fallbacks | undefined, site: Site): { readonly fallbacks?: Fallbacks } {
  if (fallbacks === undefined) return {}
  for (const cause of Object.keys(fallbacks)) placeAt(site.child(cause), fallbacks, cause)
  return { fallbacks }
}

function readModel(name: string, raw: RawModel, site: Site, context: Context): ReadModel {
  const settings: Omit<RawModelWithTargets, 'targets'> = isSettings(raw) ? raw : {}
  const targets = targetsOf(raw, site)
  // A target written in place of its model has no verbs and traits of its own: they are the model's.
  const alone = isSettings(raw) && !('targets' in raw)
  const read = targets.map(({ value, site }) => readTarget(value, site, alone, context))
  return {
    config: {
      targets: read,
      ...readFallbacks(settings.fallbacks, site.child('fallbacks')),
      ...readMirror(settings.mirror, name, site.child('mirror'), context),
      ...readCanary(settings.canary, { model: name, targets: read }, site.child('canary'), context),
      ...readStrategy(settings.strategy, weightsOf(targets), site.child('strategy'), context),
      ...(settings.stream !== undefined && {
        stream: readStreamContract(settings.stream, site.child('stream'), context),
      }),
      ...(settings.hedge !== undefined && {
        hedge: readHedge(settings.hedge, targets.length, site.child('hedge'), context),
      }),
      request: readVerbs(settings.request, site.child('request'), context),
      response: readVerbs(settings.response, site.child('response'), context),
      timeouts: readTimeouts(settings.timeouts, site.child('timeouts'), context),
      ...(settings.health === undefined
        ? {}
        : { health: readModelHealth(settings.health, site.child('health'), context) }),
      retry: readRetry(settings.retry, site.child('retry'), context),
      ...(settings.owner === undefined ? {} : { owner: settings.owner }),
      ...(settings.list === undefined ? {} : { list: settings.list }),
      ...(settings.created === undefined ? {} : { created: settings.created }),
      traits: settings.traits ?? {},
      strict: settings.strict ?? false,
      ...(settings.protocols === undefined ? {} : { protocols: settings.protocols }),
      ...readScopeLimits(settings.limits, site, context),
      ...(settings.max_output === undefined ? {} : { maxOutput: settings.max_output }),
      ...(settings.on_client_abort === undefined ? {} : { onClientAbort: settings.on_client_abort }),
    },
    site,
    targets: targets.map(target => target.site),
  }
}

/** Only what the glob stands for can be listed as one of it. */
function checkListed(model: string, raw: RawModel, site: Site, { report }: Context): void {
  const list = isSettings(raw) ? raw.list : undefined
  if (list === undefined) return
  if (!isGlob(model)) {
    report.error('bad-value', site.child('list'), `only a glob lists names, and ${quoted(model)} is not a glob`)
    return
  }
  if (list === 'upstream') return
  const glob = new Glob(model)
  for (const [index, name] of list.entries()) {
    const place = site.child('list', index)
    if (isGlob(name)) report.error('bad-value', place, `${quoted(name)} is a glob, not the name of a model`)
    else if (!glob.matches(name)) report.error('bad-value', place, `${quoted(name)} does not match ${quoted(model)}`)
  }
}

function isSettings(raw: RawModel): raw is Exclude<RawModel, string | readonly unknown[]> {
  return typeof raw === 'object' && !Array.isArray(raw)
}

interface WrittenTarget {
  readonly value: string | RawTarget
  readonly site: Site
}

function targetsOf(raw: RawModel, site: Site): readonly WrittenTarget[] {
  if (!isSettings(raw)) {
    return typeof raw === 'string'
      ? [{ value: raw, site }]
      : raw.map((value, index) => ({ value, site: site.child(index) }))
  }
  if (!('targets' in raw)) return [{ value: raw, site }]
  return raw.targets.map((value, index) => ({ value, site: site.child('targets', index) }))
}

/** Where weights are written. */
function weightsOf(targets: readonly WrittenTarget[]): readonly Site[] {
  return targets.flatMap(({ value, site }) =>
    typeof value === 'string' || value.weight === undefined ? [] : [site.child('weight')],
  )
}

function readTarget(raw: string | RawTarget, site: Site, alone: boolean, context: Context): TargetConfig {
  if (typeof raw === 'string') return { upstream: raw, traits: {}, request: [], response: [] }
  return {
    upstream: raw.upstream,
    ...(raw.as === undefined ? {} : { as: raw.as }),
    ...(raw.weight === undefined ? {} : { weight: raw.weight }),
    ...('when' in raw ? readWhen(raw.when, site.child('when'), context) : {}),
    traits: alone ? {} : (raw.traits ?? {}),
    request: alone ? [] : readVerbs(raw.request, site.child('request'), context),
    response: alone ? [] : readVerbs(raw.response, site.child('response'), context),
  }
}

function checkTarget(
  model: string,
  { value, site }: WrittenTarget,
  upstreams: Entries<RawUpstream>,
  context: Context,
): void {
  if (typeof value === 'string') {
    checkUpstream(value, site, upstreams, context)
    return
  }
  checkUpstream(value.upstream, site.child('upstream'), upstreams, context)
  if (value.as?.includes('*') && !isGlob(model)) {
    const message = `the * in "as" repeats what a * in the model's name matched, and ${quoted(model)} has no *`
    context.report.error('bad-value', site.child('as'), message)
  }
}

/** A reference to an upstream must lead somewhere. */
export function checkUpstream(name: string, site: Site, upstreams: Entries<RawUpstream>, { report }: Context): void {
  if (upstreams.has(name)) return
  const meant = suggest(name, upstreams.keys())
  const known = meant === undefined ? listed(upstreams.keys()) : undefined
  const message = `no upstream is called ${quoted(name)}${known === undefined ? '' : `; there are: ${known}`}`
  report.error('dangling-reference', site, message, { meant: () => meant, of: 'upstreams' })
}
