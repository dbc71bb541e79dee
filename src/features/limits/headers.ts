import type { Family } from '../../core/errors.js'
import { wholeText } from '../../core/json-line.js'
import type { Plan } from '../../core/plan.js'
import type { RateLimitsConfig } from '../../core/rate-limits-config.js'
import { duration, moment } from '../../kernel/translate/rate-limits.js'
import type { Account } from './account.js'

interface Named {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

interface Names extends Named {
  readonly form: RateLimitsConfig['reset']
  /** Of what is a part of it, which upstreams alone report: tokens of the input, and of the output. */
  readonly parts: readonly Named[]
  /** The last value of `reset`, and the milliseconds, or the moment, that it says. */
  last: { readonly of: number; readonly text: string }
}

/** The headers of a family by which its clients know their rate limits. */
export interface LimitHeaders {
  readonly requests: Names | undefined
  readonly tokens: Names | undefined
}

/** A plan declares them with protocols; the first protocol of a family that does speaks for all of its routes. */
export function limitHeaders(plan: Plan): ReadonlyMap<Family, LimitHeaders> {
  const found = new Map<Family, LimitHeaders>()
  for (const { errors, protocol } of plan.routes) {
    const declared = protocol?.rateLimits
    if (declared === undefined || found.has(errors)) continue
    const { input_tokens, output_tokens } = declared
    const parts = [input_tokens, output_tokens].filter(names => names !== undefined).map(lowered)
    found.set(errors, { requests: namesOf(declared, 'requests'), tokens: namesOf(declared, 'tokens', parts) })
  }
  return found
}

/** The names of all of them. */
export function headerNames(families: ReadonlyMap<Family, LimitHeaders>): readonly string[] {
  const all = [...families.values()].flatMap(({ requests, tokens }) => [requests, tokens])
  return all.flatMap(names => (names === undefined ? [] : [names.limit, names.remaining, names.reset]))
}

function namesOf(
  declared: RateLimitsConfig,
  of: 'requests' | 'tokens',
  parts: readonly Named[] = [],
): Names | undefined {
  const names = declared[of]
  if (names === undefined) return undefined
  return { ...lowered(names), form: declared.reset, parts, last: { of: Number.NaN, text: '' } }
}

function lowered({ limit, remaining, reset }: Named): Named {
  return { limit: limit.toLowerCase(), remaining: remaining.toLowerCase(), reset: reset.toLowerCase() }
}

/**
 * Adds the headers of an account's bound to a flat name, value list. An upstream's own stay where it leaves less room than the bound;
 * otherwise they are replaced, and its parts go that do not leave less either.
 */
export function addLimit(headers: string[], names: Names, account: Account, now: number): void {
  const { left, endsAt } = account
  if (leavesLess(headers, names, left)) return
  remove(headers, names)
  for (const part of names.parts) if (!leavesLess(headers, part, left)) remove(headers, part)
  headers.push(names.limit, account.boundText, names.remaining, wholeText(left))
  if (endsAt === undefined) return
  headers.push(names.reset, resetText(names, Math.max(now, endsAt), now))
}

/** Answers of one second, or of one of its last milliseconds, have the same text. */
function resetText(names: Names, endsAt: number, now: number): string {
  const isDuration = names.form === 'duration'
  const wait = endsAt - now
  const shown = wait < 1000 ? wait : Math.ceil(wait / 1000) * 1000
  const of = isDuration ? shown : endsAt
  if (of !== names.last.of) names.last = { of, text: isDuration ? duration(of) : moment(of) }
  return names.last.text
}

function leavesLess(headers: readonly string[], { remaining }: Named, left: number): boolean {
  const at = headers.indexOf(remaining)
  if (at < 0) return false
  const theirs = Number(headers[at + 1] || Number.NaN)
  return theirs >= 0 && theirs < left
}

function remove(headers: string[], { limit, remaining, reset }: Named): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    const name = headers[at]
    if (name === limit || name === remaining || name === reset) headers.splice(at, 2)
  }
}
