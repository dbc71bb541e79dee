import { basename } from 'node:path'
import type { CheckConfig } from '../../core/check.js'
import { checksOf, isForModel } from '../../core/check-scope.js'
import type { Plan, Route } from '../../core/plan.js'
import { whenText } from '../../core/when.js'
import { duration } from './format.js'
import type { Asker } from './members.js'
import type { ReadRequest } from './read-request.js'
import { conditionText } from './strategy.js'

/** `no-secrets: my-check.mjs, routes POST /v1/chat/*, models swift-*, when key intern-*, 2s, closed if it fails`. */
export function checkText({ name, module, routes, models, when, timeout, when_it_fails }: CheckConfig): string {
  const parts = [
    basename(module),
    ...(routes === undefined ? [] : [`routes ${routes.join(' or ')}`]),
    ...(models === undefined ? [] : [`models ${models.join(' or ')}`]),
    ...(when === undefined ? [] : [`when ${whenText(when)}`]),
    ...[duration(timeout), `${when_it_fails} if it fails`],
  ]
  return `${name}: ${parts.join(', ')}`
}

/** Which checks would be asked about a request. None is run. */
export function checkFacts(
  { checks }: Pick<Plan, 'checks'>,
  route: Route,
  read: ReadRequest,
  asker: Asker,
): readonly string[] {
  return checksOf(checks, route)
    .filter(check => isForModel(check, read.model))
    .map(({ name, when }) => (when === undefined ? name : `${name} (${conditionText(when, { route, read, asker })})`))
}
