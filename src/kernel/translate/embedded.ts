import type { Part } from '../../core/text.js'
import { heapOf, type JsonCost } from '../../wire/json-cost.js'
import { costInTurns } from './steps.js'

/**
 * Counts values and heap of the JSON inside strings of parts, in steps: some protocols write the arguments of calls
 * and the results of tools as text, and others as objects. Stops past `maxValues` values.
 */
export async function embeddedCost(
  lists: readonly (readonly Part[])[],
  maxValues: number,
): Promise<Omit<JsonCost, 'depth'>> {
  let values = 0
  let heap = 0
  for (const text of textsOf(lists)) {
    if (values > maxValues) break
    const cost = await costInTurns(Buffer.from(text), maxValues - values)
    values += cost.values
    heap += cost.heap - heapOf(text.length, 0, 0)
  }
  return { values, heap: Math.max(heap, 0) }
}

function* textsOf(lists: readonly (readonly Part[])[]): Generator<string, void> {
  for (const parts of lists) {
    for (const part of parts) {
      if (part.type === 'call') yield part.arguments
      else if (part.type === 'result')
        for (const inner of part.parts) if (inner.type === 'text' && inner.text.startsWith('{')) yield inner.text
    }
  }
}
