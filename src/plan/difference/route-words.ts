import type { RouteConfig } from '../../core/config.js'
import type { Placement } from '../../core/placement.js'
import type { Route } from '../../core/plan.js'
import type { Side } from './change.js'
import { digestOf, transformWords, type Words } from './words.js'

/** Whether requests on a route are for upstreams; else the gateway answers them by itself, or from what it keeps. */
export function isForUpstreams({ lane, task, model }: Route): boolean {
  return lane !== 'answer' && (task === undefined || model !== undefined)
}

/** What a route is beside the answers that its requests get. */
export function routeWords(before: Side, after: Side): (route: Route, side: 0 | 1) => Words {
  const sides = [before.config, after.config] as const
  const digests = new Map<object, string>()
  const digestOnce = (document: object): string => {
    const digest = digests.get(document) ?? digestOf(document)
    digests.set(document, digest)
    return digest
  }
  return ({ id, limits, schema, jsonSchema }, side) => {
    const [was, is] = sides.map(({ routes }): RouteConfig | undefined => routes[id])
    const { caller = [], model, request = [], requiresAllModels } = sides[side].routes[id] ?? {}
    const words = new Map([...transformWords([['', { request }]]), ['caller', caller.map(placementText).join(', ')]])
    if (model?.byDefault !== undefined) words.set('default_model', model.byDefault)
    if (requiresAllModels === true) words.set('requires_all_models', 'yes')
    for (const [name, value] of Object.entries(limits)) {
      if (name in { ...was?.limits, ...is?.limits }) words.set(`limits.${name}`, String(value))
    }
    const answers = sides[side].schemas[sides[side].response_schemas[id]?.schema ?? '']
    for (const [name, document] of Object.entries({
      schema: schema?.document,
      json: jsonSchema?.document,
      response_schema: answers,
    })) {
      if (document !== undefined) words.set(name, digestOnce(document))
    }
    return words
  }
}

/** `header authorization Bearer` */
function placementText(placement: Placement): string {
  if (placement.in === 'subprotocol') return `subprotocol ${placement.prefix}`
  const scheme = placement.in === 'header' && placement.scheme !== undefined ? ` ${placement.scheme}` : ''
  return `${placement.in} ${placement.name}${scheme}`
}
