import type { Route } from '../../core/plan.js'
import { unlistedModel } from '../../core/refusals.js'
import type { Call } from '../../kernel/call.js'
import { NOT_ALLOWED, whyNot } from '../../kernel/resolve.js'
import type { Feature, Maybe } from '../../kernel/stages.js'
import { MODEL_LISTS, ModelLists } from './model-lists.js'
import { type MethodsOf, modelShape } from './model-shapes.js'

/** Lists of models, and single ones, that the key may use, in the caller's family. */
export const answers: Feature = {
  name: 'answers',
  open(kernel) {
    kernel.provide(MODEL_LISTS, new ModelLists())
    return {}
  },
  compile({ route }) {
    if (route?.answer !== 'models' && route?.answer !== 'model') return undefined
    return { name: 'answers', serve: call => answer(call, route) }
  },
}

function answer(call: Call, route: Route): Maybe<void> {
  const { caller } = call
  const { models, routes } = call.generation.plan
  if (caller === undefined) throw new Error('an answer needs a caller')
  const shape = modelShape(call.family)
  const methods: MethodsOf = model => methodsOf(model, routes)
  if (route.answer === 'models') {
    const show = (reported: readonly string[]): void => {
      const entries = models.list(caller, reported)
      call.answer(
        200,
        shape.list(entries, methods, name => call.query?.get(name) ?? undefined),
      )
    }
    const sources = models.sources(caller)
    return sources.length === 0 ? show([]) : call.kernel.need(MODEL_LISTS).names(call, sources).then(show)
  }
  const name = route.model === undefined ? '' : (call.params[route.model.name] ?? '')
  call.model = name
  const entry = models.find(name, caller)
  if (entry === undefined) {
    const cause = caller.may(name) ? whyNot(call) : NOT_ALLOWED
    throw unlistedModel(name, call.family, cause)
  }
  call.answer(200, shape.one(entry, methods))
}

/** The verbs after `/models/{model}` that some upstream serves for the model, such as `generateContent`. */
function methodsOf(model: string, routes: readonly Route[]): readonly string[] {
  const served = routes.flatMap(route => {
    const method = METHOD.exec(route.id)?.[1]
    return method === undefined || route.resolve(model) === undefined ? [] : [method]
  })
  return [...new Set(served)]
}

const METHOD = /\/models\/\{\w+\}:(\w+)$/
