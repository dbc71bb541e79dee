import { isDeepStrictEqual } from 'node:util'
import type { Part, Seal, TextResult, TextUsage } from '../../src/core/text.js'
import type { Ledger } from './ledger.js'
import { unique } from './next-turn.js'
import { brief, type Gist, gistOf } from './support.js'

/** No loss of these is excused, regardless of what the encoder says. */
const ALWAYS = ['text', 'calls', 'JSON', 'usage']

/** Notes what of an answer came through another protocol; what is not there is `declared` where the encoder said it. */
export function compareAnswers(
  ledger: Ledger,
  pair: string,
  name: string,
  sent: TextResult,
  got: TextResult,
  lost: readonly string[],
  /** Seals that a client of the other protocol sends back; undefined where the gateway keeps them instead. */
  back: readonly Seal[] | undefined,
): void {
  const note = (what: string, was: unknown, is: unknown, kept = isDeepStrictEqual(was, is)): void => {
    const cause =
      lost.length > 0 ? [...new Set(lost)].join('; ') : `not said: ${brief(was, 80)} became ${brief(is, 80)}`
    ledger.note(pair, what, kept, cause, name, lost.length > 0 && !ALWAYS.includes(what))
  }
  const [was, is] = [gistOf(sent)[0], gistOf(got)[0]]
  if (was === undefined || is === undefined) return
  const spoken = is.refusal + is.text
  if (was.text !== '') note('text', was.text, is.text, spoken.replace(was.refusal, '') === was.text)
  if (/^\s*[{[]/.test(was.text)) note('JSON', was.text, is.text)
  if (was.calls.length > 0) note('calls', was.calls, is.calls, sameCalls(was.calls, is.calls))
  if (was.reasoning !== '') note('reasoning', bare(was.reasoning), bare(is.reasoning))
  if (was.refusal !== '') note('refusal', was.refusal, spoken, spoken.includes(was.refusal))
  if (was.media.length > 0) note('media', was.media, is.media)
  note('finish', was.reason, is.reason, finishOf(was.reason) === finishOf(is.reason))
  if (sent.candidates.length > 1) note('candidates', sent.candidates.length, got.candidates.length)
  if (sent.usage !== undefined && isConsistent(sent.usage)) {
    const told = totals(sent.usage)
    // What was not told may stand as 0: most protocols have no usage without both counts.
    const kept = Object.entries(totals(got.usage)).filter(([key]) => key in told)
    note('usage', told, Object.fromEntries(kept))
    for (const key of ['cached', 'cacheWrite', 'reasoning'] as const)
      if ((sent.usage[key] ?? 0) > 0) note(`usage ${key}`, sent.usage[key], got.usage?.[key])
  }
  const seals = sealsOf(sent)
  if (seals.length > 0 && back !== undefined) {
    const kept = seals.filter(seal => back.some(one => isDeepStrictEqual(one, seal)))
    note('seals', seals.length, kept.length)
  }
  const kinds = [
    [
      'citations',
      (result: TextResult) => count(result, part => part.type === 'text' && (part.citations ?? []).length > 0),
    ],
    ['hosted', (result: TextResult) => count(result, ({ type }) => type === 'hosted')],
  ] as const
  for (const [what, of] of kinds) {
    const had = of(sent)
    if (had > 0) note(what, had, of(got))
  }
}

/** Thoughts of several parts may be one, with a blank line between. */
export function bare(text: string): string {
  return text.replace(/\s+/g, '')
}

/** A refusal and a filter that stepped in are one to most protocols. */
function finishOf(reason: string): string {
  return reason === 'refusal' ? 'filter' : reason
}

type Call = Gist['calls'][number]

/** Free text of a custom tool is the one argument of a function where there are no custom tools. */
function sameCalls(was: readonly Call[], is: readonly Call[]): boolean {
  const isSame = (call: Call, i: number): boolean => {
    const free = typeof call.arguments === 'string' && isDeepStrictEqual(is[i]?.arguments, { input: call.arguments })
    return call.name === is[i]?.name && (free || isDeepStrictEqual(call.arguments, is[i]?.arguments))
  }
  return was.length === is.length && was.every(isSame)
}

/** Some upstreams count more tokens of the cache than tokens. */
export function isConsistent({ input = 0, cached = 0, cacheWrite = 0 }: TextUsage): boolean {
  return cached + cacheWrite <= input
}

function totals(usage: TextUsage | undefined): TextUsage {
  return {
    ...(usage?.input !== undefined && { input: usage.input }),
    ...(usage?.output !== undefined && { output: usage.output }),
  }
}

function sealsOf({ candidates }: TextResult): readonly Seal[] {
  const parts = candidates[0]?.parts ?? []
  return unique(parts.flatMap(({ seal }) => (seal === undefined ? [] : [seal])))
}

function count({ candidates }: TextResult, is: (part: Part) => boolean): number {
  return (candidates[0]?.parts ?? []).filter(is).length
}
