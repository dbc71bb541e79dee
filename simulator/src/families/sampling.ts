import type { Faults } from '../faults/table.js'
import type { Fields } from './fields.js'
import { unsupportedParameter } from './refusals.js'

const DEFAULT_EFFORT = 'medium'

/** Checks the parameters that steer sampling. They are obeyed in no other way: the simulator does not draw lots. */
export function checkSampling(body: Fields, faults: Faults): void {
  body.number('temperature', { min: 0, max: 2 })
  body.number('top_p', { min: 0, max: 1 })
  body.number('presence_penalty', { min: -2, max: 2 })
  body.number('frequency_penalty', { min: -2, max: 2 })
  if (!faults.reasoning) return
  for (const name of ['temperature', 'top_p', 'logprobs', 'presence_penalty', 'frequency_penalty']) {
    if (body.raw(name) !== undefined) throw unsupportedParameter(name)
  }
}

/** How much to reason: as asked, or as a reasoning model does unasked. */
export function effortFrom(asked: string | undefined, faults: Faults): string | undefined {
  return asked ?? (faults.reasoning ? DEFAULT_EFFORT : undefined)
}
