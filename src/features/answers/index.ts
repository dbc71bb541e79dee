import type { Route } from '../../core/plan.js'
import { unlistedModel } from '../../core/refusals.js'
import type { Call } from '../../kernel/call.js'
import type { Serve } from '../../kernel/inner.js'
import { NOT_ALLOWED, whyNot } from '../../kernel/resolve.js'
import type { Feature, Maybe } from '../../kernel/stages.js'
import { CLIENT_SECRET_ANSWERS } from '../client-secrets/answer.js'
import { COMPLETION_ANSWERS } from '../completions/answers.js'
import { listResources } from '../resources/list.js'
import { forgetDeleted, STATE_ANSWERS } from '../responses/answers.js'
import { CONVERSATION_ANSWERS } from '../responses/conversation-answers.js'
import { MODEL_LISTS, ModelLists } from './model-lists.js'
import { type MethodsOf, modelShape } from './model-shapes.js'

/** Answers of the gateway's own: models that the key may use, in the caller's family, and stored objects. */
export const answers: Feature = {
  name: 'answers',
  open(kernel) {
    kernel.provide(MODEL_LISTS, new ModelLists())
    return {}
  },
  compile({ kernel, route }) {
    // The features `limits` and `passport` answer these.
    if (route?.lane !== 'answer' || route.answer === 'usage' || route.answer === 'openapi') return undefined
    const serve = (call: Call): Maybe<void> => answer(call, route, kernel.serve)
    if (route.answer === 'response.delete') return { name: 'answers', serve, record: forgetDeleted }
    return { name: 'answers', serve }
  },
}

function answer(call: Call, route: Route, serve: Serve): Maybe<void> {
  if (route.resource !== undefined) return listResources(call, route.resource, serve)
  const ofState = route.answer && HOSTED[route.answer]
  if (ofState !== undefined) return ofState(call, route, serve)
  const { caller } = call
  const { models, routes } = call.generation.plan
  if (caller === undefined) throw new Error('an answer needs a caller')
  const shape = modelShape(call.family)
  const methods: MethodsOf = model => methodsOf(model, routes)
  if (route.answer === 'models') {
    const show = (told: readonly string[]): void => {
      const entries = models.list(caller, told)
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

/** Answers about objects that the gateway stores. */
const HOSTED = { ...STATE_ANSWERS, ...CLIENT_SECRET_ANSWERS, ...CONVERSATION_ANSWERS, ...COMPLETION_ANSWERS }

/** The verbs after `/models/{model}` that some upstream serves for the model, such as `generateContent`. */
function methodsOf(model: string, routes: readonly Route[]): readonly string[] {
  const served = routes.flatMap(route => {
    const method = METHOD.exec(route.id)?.[1]
    return method === undefined || route.resolve(model) === undefined ? [] : [method]
  })
  return [...new Set(served)]
}

const METHOD = /\/models\/\{\w+\}:(\w+)$/
