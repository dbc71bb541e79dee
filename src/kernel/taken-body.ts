import type { Exchange } from '../core/plan.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { changesOf } from './changes.js'
import { formAsJson } from './form-json.js'
import { isLarge } from './translate/steps.js'

// Bodies that an upstream takes as JSON, and that the client sent in another format.

/** Large bodies, those that become JSON, and those whose verbs change what they ask for: stages decide again before they are sent. */
export function isInSteps({ adds, formsAs }: Exchange, body: Body): boolean {
  if (body.type === 'bytes' && isLarge(body.bytes.length)) return true
  return adds?.paths !== undefined || (body.type === 'form' && formsAs !== undefined)
}

/** The body in the format on which the verbs of an exchange work. */
export async function takenBody(call: Call, exchange: Exchange, body: Body): Promise<Body> {
  const { formsAs } = exchange
  if (body.type !== 'form' || formsAs === undefined) return body
  const json = await formAsJson(call, body, formsAs, changesOf(call, exchange)?.fields)
  call.cancellation.throwIfCancelled()
  return json
}
