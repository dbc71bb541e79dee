import { AttemptTimes, type Feature } from '../../kernel/stages.js'
import { admitted, answered, arrived, sent } from './detail.js'
import { isSimulated } from './faults.js'
import { callerOf, reportStatus } from './play.js'
import { ConsoleService } from './service.js'
import { begin } from './steps.js'

/** What the console shows of requests, and the requests that it makes. Plans without a console have no stage of it. */
export const webConsole: Feature<ConsoleService> = {
  name: 'console',
  open: kernel => new ConsoleService(kernel),
  compile({ plan }, service) {
    if (plan.admin?.console !== true) return undefined
    const isFaulty = [...plan.upstreams.values()].some(isSimulated)
    return {
      name: 'console',
      identify: call => callerOf(call.request),
      admit: admitted,
      onBody(call, body) {
        arrived(call, body)
        return body
      },
      beforeAttempt(attempt) {
        attempt.times ??= new AttemptTimes()
        begin(attempt)
        return undefined
      },
      onUpstreamRequest(attempt, headers) {
        // Plans without the simulator have none of its faults.
        if (isFaulty) service.faults.addTo(headers, attempt.exchange.upstream)
        sent(attempt, headers)
      },
      recordAttempt: (attempt, outcome) => service.attempted(attempt, outcome),
      onAnswerHead(call, status, headers) {
        answered(call, headers)
        reportStatus(call.request, status)
      },
      record: call => service.settled(call),
    }
  },
}
