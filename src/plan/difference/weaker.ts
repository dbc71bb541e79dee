import { isGlob } from '../../core/glob.js'
import { NameSet } from '../names.js'

/** Words that bound by a number: more of it allows more. */
const NUMBERS: ReadonlySet<string> = new Set(['in_flight', 'streams', 'max_output', 'body'])
const PER_WINDOW = / per \w+$/
/** Words whose list allows; without it everything is allowed. */
const LISTS: ReadonlySet<string> = new Set(['models', 'routes', 'networks', 'regions'])
/** Words that only restrict: without them more is allowed. */
const RESTRICTIONS: ReadonlySet<string> = new Set(['strict', 'disabled', 'expires', 'region', 'group', 'capture'])

/** Whether a policy allows more than before. `undefined`: it says nothing. */
export function isWeaker(what: string, before: string | undefined, after: string | undefined): boolean {
  if (what === 'generations') return before === undefined
  if (before === undefined) return false
  if (NUMBERS.has(what) || PER_WINDOW.test(what)) return after === undefined || amountOf(after) > amountOf(before)
  if (LISTS.has(what)) return after === undefined || allowsMore(listOf(before), listOf(after))
  if (what === 'expires') return after === undefined || after > before
  if (what === 'unpriced') return before === 'refuse'
  if (what === 'when_store_fails') return before === 'closed'
  if (what === 'address') return before.startsWith('https:') && after?.startsWith('http:') === true
  return RESTRICTIONS.has(what) && after === undefined
}

/** `600/min`, `2M/day`, `0.50 USD/day`. */
function amountOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)([kM]?)/.exec(text) ?? []
  return Number(number) * ({ k: 1e3, M: 1e6 }[unit] ?? 1)
}

function listOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(', ')
}

/** Whether something of the new list is not in the old one. A glob is in a list that has it, or a wider one that matches its text. */
function allowsMore(before: readonly string[], after: readonly string[]): boolean {
  const known = new NameSet(before)
  return after.some(
    one => !before.includes(one) && !(isGlob(one) ? before.includes('*') || known.has(one) : known.has(one)),
  )
}
