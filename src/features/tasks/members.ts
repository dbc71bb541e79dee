import type { InBody } from '../../core/admission.js'
import type { Call } from '../../kernel/call.js'
import { type Slot, slot } from '../../kernel/slot.js'

/** The top-level members of a submit's body. */
export const MEMBERS: Slot<InBody> = slot('task_members')

/** The value of a member; undefined if the body does not have it. */
export function memberOf(call: Call, name: string): unknown {
  return call.get(MEMBERS)?.(name)
}
