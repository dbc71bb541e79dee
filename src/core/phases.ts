import type { Route } from './plan.js'

/*
 * The order of admission. The pipeline compiles its steps by this list, and `explain` makes its checks by it, so that a request
 * that breaks several rules is refused by the same one in both.
 */

/** The first phases of every request, also on paths that no route has. `match` refuses those. */
const ENTRY = ['begin', 'onRequest', 'identify', 'admit', 'match'] as const

/** Those that follow where an upstream is asked, or a feature needs body and candidates. */
const WITH_BODY = ['readBody', 'onBody', 'source', 'narrow', 'serve'] as const

export type Phase = (typeof ENTRY)[number] | (typeof WITH_BODY)[number]

/** The phases of a route's requests, in order. `isServed`: a feature answers instead of an upstream. */
export function phasesOf(
  route: Pick<Route, 'lane' | 'task' | 'answer'> | undefined,
  isServed: boolean,
): readonly Phase[] {
  if (route === undefined) return ENTRY
  // An upstream gets it: what sees the bodies of other requests sees this one, too.
  if (isServed && route.answer === 'response.compact') return [...ENTRY, 'readBody', 'onBody', 'serve']
  // Such a feature reads the body itself, if it needs one.
  if (isServed && route.lane !== 'exchange' && route.task?.action !== 'submit') return [...ENTRY, 'serve']
  return [...ENTRY, ...WITH_BODY]
}
