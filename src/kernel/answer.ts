import { GatewayError } from '../core/errors.js'
import type { ModelEntry, Route } from '../core/plan.js'
import type { Call } from './call.js'

/** Answers that the plan itself holds: the models that the presented key may use. */
export function answer(call: Call, route: Route): void {
  const { models } = call.generation.plan
  const { caller } = call
  if (caller === undefined) throw new Error('an answer needs a caller')
  if (route.answer === 'models') {
    call.answer(200, { object: 'list', data: models.list(caller).map(model) })
    return
  }
  const name = route.model === undefined ? '' : (call.params[route.model.name] ?? '')
  call.model = name
  const entry = models.find(name, caller)
  if (entry === undefined) {
    throw new GatewayError('model_not_found', `The model '${name}' does not exist`, { param: 'model' })
  }
  call.answer(200, model(entry))
}

function model(entry: ModelEntry): object {
  return { id: entry.id, object: 'model', created: entry.created, owned_by: entry.owner }
}
