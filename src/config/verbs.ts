import type { VerbConfig } from '../core/config.js'
import { isObject, type Json } from '../core/json.js'
import { areRulesWatched } from '../core/rule-watch.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { placeAt } from './placed-rules.js'

/** The verbs of a list, which the schema has accepted. Reports moves that leave the element which `*` stands for. */
export function readVerbs(
  list: readonly VerbConfig[] | undefined,
  site: Site,
  { report }: Pick<Context, 'report'>,
): readonly VerbConfig[] {
  if (areRulesWatched()) placeVerbs(list ?? [], site)
  for (const [index, verb] of (list ?? []).entries()) {
    refuseMisplaced(verb, site.child(index), report)
    for (const { from, to, place } of movesOf(verb)) {
      const fault = faultOf(from, to)
      if (fault !== undefined) report.error('bad-value', site.child(index, ...place), fault)
    }
  }
  return list ?? []
}

/** Of `when` its condition, and the verbs that depend on it. */
function placeVerbs(list: readonly VerbConfig[], site: Site): void {
  for (const [index, verb] of list.entries()) {
    const { when } = verb
    if (!isObject(when)) {
      placeAt(site.child(index), verb)
      continue
    }
    placeAt(site.child(index, 'when', 'if'), when)
    for (const branch of ['do', 'else']) {
      const inner = when[branch]
      if (Array.isArray(inner)) placeVerbs(inner as readonly VerbConfig[], site.child(index, 'when', branch))
    }
  }
}

interface Move {
  readonly from: string
  readonly to: string
  /** Where the target is written, within the verb. */
  readonly place: readonly (string | number)[]
}

function movesOf(verb: VerbConfig): readonly Move[] {
  const moves = (['rename', 'alias'] as const).flatMap(name =>
    members(verb[name]).map(([from, to]) => ({ from, to: String(to), place: [name, from] })),
  )
  const cuts = members(verb.split).flatMap(([from, how]) => {
    const into = isObject(how) && Array.isArray(how.into) ? how.into : []
    return into.map((to, index) => ({ from, to: String(to), place: ['split', from, 'into', index] }))
  })
  return [...moves, ...cuts]
}

/** Each value stays within its element: several values cannot move to one place elsewhere. */
function faultOf(from: string, to: string): string | undefined {
  const stars = /^(?:.*\.)?\*(?=\.|$)/.exec(from)?.[0]
  const begin = stars === undefined ? '' : `${stars}.`
  if (from === stars) return `${from} has no target: write a name after the last *`
  const isAlike = to.startsWith(begin) && !/(?:^|\.)\*(?:\.|$)/.test(to.slice(begin.length))
  if (isAlike) return undefined
  if (begin === '') return `${to} has a * and ${from} has none: both have to be in the same element`
  return `each value moves within its element: the path has to begin with ${begin} and continue without a *`
}

function members(args: Json | undefined): readonly (readonly [string, Json])[] {
  return args !== undefined && isObject(args) ? Object.entries(args) : []
}

/** An answer has no path and no query that values could move to. */
function refuseMisplaced(verb: VerbConfig, site: Site, report: Context['report']): void {
  if (!site.path.includes('response')) return
  for (const name of ['send', 'take'] as const) {
    if (verb[name] === undefined) continue
    report.error('bad-value', site.child(name), `${name} is for requests: an answer has no path and no query`)
  }
}
