import { isGlob } from '../../core/glob.js'
import { isObject, parseJson } from '../../core/json.js'
import { NameSet } from '../names.js'

/** Words that bound by a number: more of it allows more. */
const NUMBERS: ReadonlySet<string> = new Set(['in_flight', 'streams', 'max_output', 'body'])
const PER_WINDOW = / per \w+$/
/** Words whose list allows; without it everything is allowed. */
const LISTS: ReadonlySet<string> = new Set(['models', 'routes', 'networks', 'regions', 'caller'])
/** Words that only restrict: without them more is allowed. */
const RESTRICTIONS: ReadonlySet<string> = new Set([
  ...['strict', 'disabled', 'expires', 'group', 'capture'],
  ...['schema', 'requires_all_models'],
])
/** Words that say what is kept of the content of requests, as JSON. */
const KEPT: ReadonlySet<string> = new Set(['capture', 'trace'])

/** Whether a policy allows more than before. `undefined`: it says nothing. */
export function isWeaker(what: string, before: string | undefined, after: string | undefined): boolean {
  if (before === after) return false
  if (what === 'generations' || what === 'resources.unknown') return before === undefined
  if (what.startsWith('members.')) return after === 'pass' || (after === undefined && before !== 'pass')
  if (KEPT.has(what) && after !== undefined && (before === undefined || keepsMore(before, after))) return true
  if (what === 'when_store_fails') return before === 'closed' || after === 'open'
  // Keys with regions use what is in theirs, and nothing whose region is not known.
  if (what === 'region') return after !== undefined
  if (what === 'unpriced') return before === 'refuse' || after === 'free'
  if (before === undefined) return false
  if (NUMBERS.has(what) || PER_WINDOW.test(what) || what.startsWith('limits.'))
    return after === undefined || amountOf(after) > amountOf(before)
  if (LISTS.has(what)) return after === undefined || allowsMore(listOf(before), listOf(after))
  if (what === 'expires') return after === undefined || after > before
  if (what === 'egress') return reachesMore(before, after ?? '')
  if (what === 'address') return before.startsWith('https:') && after?.startsWith('http:') === true
  return RESTRICTIONS.has(what) && after === undefined
}

/** Whether less is masked, or more of it is kept, or for longer. */
function keepsMore(before: string, after: string): boolean {
  const [was, is] = [parseJson(before), parseJson(after)]
  if (!isObject(was) || !isObject(is)) return false
  if (was.content === 'masked' && is.content !== 'masked') return true
  if (['keep', 'size'].some(name => Number(is[name]) > Number(was[name]))) return true
  return ['mask', 'words'].some(name => {
    const [masked, masks] = [was[name], is[name]]
    return Array.isArray(masked) && masked.some(one => !Array.isArray(masks) || !masks.includes(one))
  })
}

/** Of the lines of `egress`: a proxy, own authorities or a least version of TLS that is gone, or more that goes by no proxy. */
function reachesMore(before: string, after: string): boolean {
  const [isBy, isByNow] = [before, after].map(text => /\bproxy (?!of the environment: none)/.test(text))
  const hosts = (text: string): readonly string[] => /, but for ([^;]+)/.exec(text)?.[1]?.split(' ') ?? []
  const isBeside = hosts(after).some(host => !hosts(before).includes(host))
  const least = (text: string): string => /at least TLS ([\d.]+)/.exec(text)?.[1] ?? ''
  const isTrusting = /\bauthorities /.test(before) && !/\bauthorities /.test(after)
  return (isBy === true && (isByNow !== true || isBeside)) || isTrusting || least(after) < least(before)
}

/** `600/min`, `2M/day`, `0.50 USD/day`. */
export function amountOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)([kM]?)/.exec(text) ?? []
  return Number(number) * ({ k: 1e3, M: 1e6 }[unit] ?? 1)
}

function listOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(', ')
}

/** Whether something of the new list is not in the old one. A glob is in a list that has it, or a wider one that matches its text. */
export function allowsMore(before: readonly string[], after: readonly string[]): boolean {
  const known = new NameSet(before)
  return after.some(
    one => !before.includes(one) && !(isGlob(one) ? before.includes('*') || known.has(one) : known.has(one)),
  )
}
