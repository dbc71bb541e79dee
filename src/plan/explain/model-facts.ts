import type { Traits } from '../../core/codec.js'
import type { ModelConfig, TargetConfig, VerbConfig } from '../../core/config.js'
import type { Plan } from '../../core/plan.js'
import { whenText } from '../../core/when.js'
import { groupTargets } from '../weights.js'
import { percent } from './format.js'
import { limitFacts } from './limit-facts.js'
import { canaryText, fallbackLines, isDrawn, mirrorText, strategyText } from './strategy.js'

export interface ModelFacts {
  readonly name: string
  /** In order of preference; the members of a group are drawn from by weight. */
  readonly groups: readonly (readonly TargetFacts[])[]
  /** How the one that is asked first is chosen, if not by this order. */
  readonly strategy?: string
  /** Models that are asked instead: `overloaded: other, another`. */
  readonly fallbacks?: readonly string[]
  /** Which requests are copied, and for which model. */
  readonly mirror?: string
  /** Which requests try another target. */
  readonly canary?: string
  readonly traits: Traits
  /** Whether requests for it are refused where something of them would be lost in translation. */
  readonly strict?: boolean
  /** The only protocols, or families of them, by which it is served. */
  readonly protocols?: readonly string[]
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  readonly bounds?: readonly string[]
}

export interface TargetFacts {
  readonly upstream: string
  readonly as?: string
  /** Share of its group's first draws, in percent; of groups of more than one. */
  readonly share?: number
  readonly off?: string
  /** The requests that it is for. */
  readonly when?: string
  readonly traits: Traits
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
}

export function modelFacts(name: string, config: ModelConfig, plan: Plan): ModelFacts {
  const { targets, strategy, traits, strict, protocols, request, response } = config
  const groups = groupTargets(targets, strategy).map(group => targetFacts(group, plan, isDrawn(strategy)))
  return {
    ...{ name, groups, traits, request, response, ...limitFacts(config.limits) },
    ...(strategy === undefined ? {} : { strategy: strategyText(strategy) }),
    ...(config.fallbacks === undefined ? {} : { fallbacks: fallbackLines(config.fallbacks, () => true) }),
    ...(config.canary === undefined ? {} : { canary: canaryText(config.canary) }),
    ...(config.mirror === undefined ? {} : { mirror: mirrorText(config.mirror) }),
    ...(strict ? { strict } : {}),
    ...(protocols === undefined ? {} : { protocols }),
  }
}

/** Shares are of the targets that are on: the others are not drawn. */
function targetFacts(group: readonly TargetConfig[], { upstreams }: Plan, isShared: boolean): readonly TargetFacts[] {
  const on = group.filter(target => upstreams.get(target.upstream)?.off === undefined)
  const sum = on.reduce((total, target) => total + (target.weight ?? 1), 0)
  return group.map(target => {
    const off = upstreams.get(target.upstream)?.off
    return {
      upstream: target.upstream,
      ...(target.as === undefined ? {} : { as: target.as }),
      ...(group.length === 1 || off !== undefined || !isShared ? {} : { share: percent(target.weight ?? 1, sum) }),
      ...(off === undefined ? {} : { off }),
      ...(target.when === undefined ? {} : { when: whenText(target.when) }),
      traits: target.traits,
      request: target.request,
      response: target.response,
    }
  })
}
