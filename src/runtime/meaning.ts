import type { ShownDifference } from '../admin/host.js'
import { inSlices } from '../core/steps.js'
import { comparing, type MARKS, type Side } from '../plan/difference/difference.js'
import { headline } from '../plan/difference/headline.js'

/** Keys, models and upstreams of either side: with more, comparing takes seconds of CPU beside the requests. */
const MAX_ENTRIES = 2000
/** Changes that are shown, a line each, and the longest line. */
const MAX_LINES = 20
const MAX_LINE_CHARS = 300
/** Of them, those that allow more than before and are logged. */
const MAX_LOGGED = 5

/** What a change of the configuration means for callers: what `gateway plan` says, in short. Runs beside requests. */
export async function meaningOf(before: Side, after: Side): Promise<ShownDifference> {
  const entries = Math.max(sizeOf(before), sizeOf(after))
  if (entries > MAX_ENTRIES) {
    return { skipped: `${entries} keys, models and upstreams are more than ${MAX_ENTRIES}: gateway plan compares them` }
  }
  try {
    const changes = await inSlices(comparing(before, after, Date.now()))
    const marked = (mark: (typeof MARKS)[number]): number => changes.filter(({ marks }) => marks.includes(mark)).length
    const lines = changes
      .toSorted((one, other) => other.marks.length - one.marks.length)
      .slice(0, MAX_LINES)
      .map(change => headline(change).slice(0, MAX_LINE_CHARS))
    return {
      changes: changes.length,
      ...{ weaker: marked('weaker'), loss: marked('loss'), unreachable: marked('unreachable') },
      lines,
    }
  } catch (error) {
    return { skipped: `comparing failed: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** What allows more than before, for a line of the log. */
export function weakened({ lines = [] }: ShownDifference): { readonly weakened?: readonly string[] } {
  const found = lines.filter(line => line.startsWith('WEAKER: '))
  return found.length === 0 ? {} : { weakened: found.slice(0, MAX_LOGGED).map(line => line.slice('WEAKER: '.length)) }
}

function sizeOf({ config: { keys, models, upstreams } }: Side): number {
  return [keys, models, upstreams].reduce((sum, entries) => sum + Object.keys(entries).length, 0)
}
