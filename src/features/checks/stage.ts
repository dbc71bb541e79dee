import type { CheckConfig } from '../../core/check.js'
import { checksOf, isForModel } from '../../core/check-scope.js'
import { GatewayError } from '../../core/errors.js'
import type { Route } from '../../core/plan.js'
import { isFor } from '../../core/when.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { copied, isCountedElsewhere } from '../../kernel/inner.js'
import type { Stage } from '../../kernel/stages.js'
import { viewOf } from '../../kernel/view-of.js'
import { CheckedCall, SharedDocument } from './checked-request.js'
import type { Checks } from './checks.js'
import type { OpenedCheck } from './opened-check.js'

/** A check, as a route has it. */
interface Routed {
  readonly config: CheckConfig
  readonly opened: OpenedCheck
}

/** The stage of a route that has checks; undefined where no check concerns it. */
export function checksStage(route: Route, declared: readonly CheckConfig[], checks: Checks): Stage | undefined {
  const routed = checksOf(declared, route).map(config => ({ config, opened: checks.openedFor(config) }))
  if (routed.length === 0) return undefined
  return {
    name: 'checks',
    onBody(call, body) {
      // A copy, and a request that another one has the gateway make, were checked as that one.
      if (copied(call.request) !== undefined || isCountedElsewhere(call.request)) return body
      const meant = routed.filter(one => isMeant(one.config, call, body))
      if (meant.length === 0) return body
      const document = new SharedDocument(call, body)
      const asked = askFrom(0, meant, { call, document, checks })
      if (asked === undefined) return body
      return asked.then(() => body).finally(() => document.release())
    },
  }
}

interface Asking {
  readonly call: Call
  readonly document: SharedDocument
  readonly checks: Checks
}

/** Asks in turn, from one on; the first refusal ends it. A promise is made only where a check makes one. */
function askFrom(from: number, meant: readonly Routed[], asking: Asking): Promise<void> | undefined {
  for (const [index, one] of meant.slice(from).entries()) {
    const asked = ask(one, asking)
    if (asked !== undefined) return asked.then(() => askFrom(from + index + 1, meant, asking))
  }
  return undefined
}

function ask({ config, opened }: Routed, { call, document, checks }: Asking): Promise<void> | undefined {
  let said: ReturnType<OpenedCheck['ask']>
  try {
    said = opened.ask(new CheckedCall(call, document))
  } catch (cause) {
    failed(config, cause, { call, checks })
    return undefined
  }
  if (!(said instanceof Promise)) {
    judge(config, said, checks)
    return undefined
  }
  return said.then(
    one => judge(config, one, checks),
    (cause: unknown) => failed(config, cause, { call, checks }),
  )
}

function judge(config: CheckConfig, said: Awaited<ReturnType<OpenedCheck['ask']>>, checks: Checks): void {
  checks.ended(config, said === 'pass' ? 'passed' : 'refused')
  if (said === 'pass') return
  throw new GatewayError('refused', said.refuse, { status: said.status, phase: 'check', rule: config.name })
}

/**
 * What the gateway itself refuses while a check reads the body is not the check's fault, nor what fails because the call has ended:
 * its client may have left.
 */
function failed(config: CheckConfig, cause: unknown, { call, checks }: Pick<Asking, 'call' | 'checks'>): void {
  if (cause instanceof GatewayError) throw cause
  call.cancellation.throwIfCancelled()
  checks.failed(config, cause)
}

function isMeant(config: CheckConfig, call: Call, body: Body): boolean {
  return isForModel(config, call.model) && (config.when === undefined || isFor(config, viewOf(call, body)))
}
