import { slot } from '../../kernel/slot.js'
import type { Feature } from '../../kernel/stages.js'
import { HeldAnswer } from './held-answer.js'
import { ResponseChecks } from './response-checks.js'

const ANSWER = slot<HeldAnswer>('response_schemas')

/**
 * Compares whole JSON answers with the schema of their route, after they have been sent: a share of them is held meanwhile.
 * Streams are not compared.
 */
export const responseSchemas: Feature<ResponseChecks> = {
  name: 'response_schemas',
  open: kernel => new ResponseChecks((fields, message) => kernel.onNotice(fields, message)),
  compile({ route }, checks) {
    const declared = route?.responseCheck
    if (route === undefined || declared === undefined) return undefined
    const { share, validate } = declared
    return {
      name: 'response_schemas',
      admit(call) {
        if (Math.random() >= share) return
        const answer = new HeldAnswer(checks.use)
        call.set(ANSWER, answer)
        call.taps.add(answer)
      },
      onAnswerHead: (call, status, headers) => call.get(ANSWER)?.begin(status, headers),
      settle: call => call.get(ANSWER)?.settle(),
      record(call) {
        const answer = call.get(ANSWER)
        if (answer?.isMeant !== true) return
        const upstream = call.attempts.at(-1)?.upstream
        const about = { id: call.id, route: route.id, ...(call.model && { model: call.model }), upstream }
        checks.ended(about, answer, validate)
      },
    }
  },
}
