import type { ExchangeFacts } from '../explain/exchange-facts.js'
import { ANSWERS, type Decision } from './decision.js'

type Facts = Decision['facts'][number]

/** Longest value that a line shows whole. */
const MAX_VALUE_CHARS = 160

/** What differs between two answers of `explain` to the same request, a line each. Empty where they are equal. */
export function differing(before: readonly Facts[], after: readonly Facts[]): string[] {
  const lines = new Set<string>()
  for (const [at, was] of before.entries()) {
    const is = after[at]
    if (is === undefined || JSON.stringify(was) === JSON.stringify(is)) continue
    if (typeof was === 'string' || typeof is === 'string') {
      if (typeof was !== typeof is) lines.add(`${ANSWERS[at]}: ${resultOf(was)} → ${resultOf(is)}`)
      continue
    }
    const { exchanges: theirs, ...rest } = was
    const { exchanges: ours, ...others } = is
    for (const line of members('', rest, others)) lines.add(line)
    for (const line of exchangeLines(theirs, ours)) lines.add(line)
  }
  const only = before.length === after.length ? [] : ['stream: requests may ask for it on one side alone']
  return [...lines, ...only]
}

function resultOf(facts: Facts): string {
  return typeof facts === 'string' ? facts : 'served'
}

function exchangeLines(before: readonly ExchangeFacts[], after: readonly ExchangeFacts[]): readonly string[] {
  const lines: string[] = []
  const [was, is] = [before, after].map(orderOf)
  if (was !== is) lines.push(`order: ${was} → ${is}`)
  const left = [...after]
  for (const one of before) {
    const at = left.findIndex(other => other.upstream === one.upstream)
    const other = at < 0 ? undefined : left.splice(at, 1)[0]
    // Its place is in the order, and what follows its failure goes by how many others there are.
    if (other === undefined) continue
    const own = members(`${one.upstream}: `, placeless(one), placeless(other))
    // A target that is alone has no one to be asked after.
    const isBeside = before.length > 1 !== after.length > 1
    lines.push(...(isBeside ? own.filter(line => !BESIDE.test(line)) : own))
  }
  return lines
}

/** What follows from there being another target. */
const BESIDE = /^\S+: (?:health|retry others|hedge)/

function orderOf(exchanges: readonly ExchangeFacts[]): string {
  return exchanges
    .map(({ group, upstream, share }) => `${group} ${upstream}${share === undefined ? '' : ` ${share} %`}`)
    .join(', ')
}

/** The address apart from the path, so that another address is the same difference on all routes. */
function placeless({ group: _, share: __, url, ...rest }: ExchangeFacts): object {
  const at = url.indexOf('/', url.indexOf('//') + 2)
  return at < 0 ? { ...rest, address: url } : { ...rest, address: url.slice(0, at), path: url.slice(at) }
}

/** One line for each member that differs; of objects, for each of theirs. */
function members(path: string, before: object, after: object): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap(name => {
    const was: unknown = Reflect.get(before, name)
    const is: unknown = Reflect.get(after, name)
    if (JSON.stringify(was) === JSON.stringify(is)) return []
    if (isPlain(was) && isPlain(is)) return members(`${path}${name} `, was, is)
    return [`${path}${name}: ${shown(was)} → ${shown(is)}`]
  })
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(value: unknown): string {
  if (value === undefined) return 'none'
  const text = Array.isArray(value) && value.every(one => typeof one === 'string') ? value.join(', ') : textOf(value)
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
