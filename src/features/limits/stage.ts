import type { Family } from '../../core/errors.js'
import type { Plan, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import type { Stage } from '../../kernel/stages.js'
import { Admission } from './admission.js'
import type { Book } from './book.js'
import { addLimit, headerNames, type LimitHeaders, limitHeaders } from './headers.js'
import { summaryOf } from './scope-summary.js'
import { Spending } from './spending.js'

/** The stage of a route of a plan that has limits, prices or groups. */
export function limitsStage(plan: Plan, route: Route | undefined, book: Book): Stage {
  const families = limitHeaders(plan)
  const name = 'limits'
  const onAnswerHead: Stage['onAnswerHead'] = (call, _status, headers) => addHeaders(call, headers, book, families)
  const exposes = headerNames(families)
  if (route === undefined) return { name, onAnswerHead, exposes }
  const admission = new Admission(book, route)
  const own: Stage = {
    name,
    admit: call => admission.admit(call),
    onAnswerHead,
    exposes,
    settle: call => admission.settle(call),
  }
  // Of what the gateway answers, only what names a model may ask an upstream for more than it keeps.
  if (route.lane === 'answer' && route.model === undefined) return own
  const spending = new Spending(book, route)
  return {
    ...own,
    onBody(call, body) {
      const entered = admission.enterStream(call)
      return entered === undefined ? body : entered.then(() => body)
    },
    beforeAttempt: attempt => spending.reserve(attempt),
    beforeSend: attempt => spending.adjust(attempt),
    ...(route.tunnel !== undefined && { onUsage: (call, usage, attempt) => spending.extend(call, usage, attempt) }),
    ...(book.isDurable ? durable(book, spending) : inMemory(spending)),
  }
}

type Ends = Pick<Stage, 'afterAttempt' | 'recordAttempt' | 'beforeEnd'>

function inMemory(spending: Spending): Ends {
  return {
    afterAttempt: (attempt, outcome) => spending.settle(attempt, outcome),
    recordAttempt: (attempt, outcome) => spending.record(attempt, outcome),
  }
}

/** The last byte of an answer waits for its record. */
function durable(book: Book, spending: Spending): Ends {
  return {
    afterAttempt(attempt, outcome) {
      spending.settle(attempt, outcome)
      spending.record(attempt, outcome)
    },
    beforeEnd: () => book.flushed(),
  }
}

/** Reports the tightest bounds of the key. A family whose services have no such headers gets none. */
function addHeaders(call: Call, headers: string[], book: Book, families: ReadonlyMap<Family, LimitHeaders>): void {
  const policy = call.caller?.policy
  if (policy === undefined) return
  const { scopes, hasRates } = summaryOf(policy)
  const names = families.get(call.family)
  if (names === undefined || !hasRates) return
  const { requests, tokens } = names
  const now = Date.now()
  const ofRequests = requests && book.tightest(scopes, 'requests', now)
  if (requests !== undefined && ofRequests !== undefined) addLimit(headers, requests, ofRequests, now)
  const ofTokens = tokens && book.tightest(scopes, 'tokens', now)
  if (tokens !== undefined && ofTokens !== undefined) addLimit(headers, tokens, ofTokens, now)
}
