import type { Feature } from '../../kernel/stages.js'
import { passportOf } from './document.js'

/** `GET /v1/openapi.json`: what the presented key may do. */
export const passport: Feature = {
  name: 'passport',
  compile({ route }) {
    if (route?.answer !== 'openapi') return undefined
    return {
      name: 'passport',
      serve(call) {
        if (call.caller === undefined) throw new Error('an answer needs a caller')
        call.answer(200, passportOf(call.generation.plan, call.caller))
      },
    }
  },
}
