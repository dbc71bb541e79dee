import { FAILURE_CAUSES } from '../core/failure-cause.js'
import { Glob } from '../core/glob.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { ReadModel } from './models.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'

/**
 * Fallbacks, mirrors and canaries name models that are there. `names`: of all models, also of those in which something is wrong.
 */
export function checkOtherModels(
  models: ReadonlyMap<string, ReadModel>,
  names: readonly string[],
  { report }: Context,
): void {
  const globs = names.map(name => new Glob(name))
  const check = (name: string, place: Site, itself: string, model: string): void => {
    if (name === model) report.error('bad-value', place, itself)
    else if (!globs.some(glob => glob.matches(name))) {
      const message = `no model is called ${quoted(name)}`
      report.error('dangling-reference', place, message, { meant: () => suggest(name, names), of: 'models' })
    }
  }
  for (const [model, { config, site }] of models) {
    for (const cause of FAILURE_CAUSES) {
      for (const [index, name] of (config.fallbacks?.[cause] ?? []).entries()) {
        const place = site.child('fallbacks', cause, index)
        check(name, place, 'a model cannot be its own fallback', model)
      }
    }
    const { mirror, canary } = config
    if (mirror !== undefined) check(mirror.to, site.child('mirror', 'to'), 'a model cannot be its own mirror', model)
    if (canary?.isTarget === false)
      check(canary.to, site.child('canary', 'to'), 'a model cannot be its own canary', model)
  }
}

/** Groups that conditions name have to be there. Keys may be in the store. */
export function checkWhen(
  models: ReadonlyMap<string, ReadModel>,
  groups: readonly string[],
  { report }: Context,
): void {
  for (const { config, targets } of models.values()) {
    for (const [index, { when }] of config.targets.entries()) {
      const site = targets[index]?.child('when', 'group')
      for (const [at, name] of (when?.group ?? []).entries()) {
        if (site === undefined || groups.includes(name)) continue
        const message = `no group is called ${quoted(name)}`
        report.error('dangling-reference', site.child(at), message, { meant: () => suggest(name, groups) })
      }
    }
  }
}
