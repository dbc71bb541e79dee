import { AttemptTimes, type Feature } from '../../kernel/stages.js'
import { isSimulated } from './faults.js'
import { callerOf } from './play.js'
import { ConsoleService } from './service.js'
import { begin } from './steps.js'

/** What the console shows of requests, and the requests that it makes. Plans without a console have no stage of it. */
export const webConsole: Feature<ConsoleService> = {
  name: 'console',
  open: kernel => new ConsoleService(kernel),
  compile: ({ plan }, service) =>
    plan.admin?.console !== true
      ? undefined
      : {
          name: 'console',
          identify: call => callerOf(call.request),
          beforeAttempt: attempt => {
            attempt.times ??= new AttemptTimes()
            begin(attempt)
            return undefined
          },
          // Plans without the simulator have no hook for its faults.
          ...([...plan.upstreams.values()].some(isSimulated) && {
            onUpstreamRequest: ({ exchange }, headers) => service.faults.addTo(headers, exchange.upstream),
          }),
          afterAttempt: (attempt, outcome) => service.attempted(attempt, outcome),
          record: call => service.settled(call),
        },
}
