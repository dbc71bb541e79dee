import { fold } from './control-names.js'

/**
 * A call's target with the client's query parameters appended, except those that `isReserved` selects and those that the
 * call itself sets, in any spelling that a server may read as the same name.
 */
export function mergeQuery(target: string, client: URLSearchParams | undefined, isReserved: IsReserved): string {
  if (client === undefined) return target
  const mark = target.indexOf('?')
  const own = new Set(Array.from(new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)).keys(), base))
  const passed = [...client].filter(([name, value]) => !own.has(base(name)) && !isReserved(name, value))
  return passed.length === 0 ? target : `${target}${mark < 0 ? '?' : '&'}${new URLSearchParams(passed)}`
}

/** A name as the most lenient servers compare it: folded, without list brackets. */
function base(name: string): string {
  return fold(name.replace(/\[.*$/s, '').trim())
}

/** Whether the gateway keeps a parameter to itself. */
export type IsReserved = (name: string, value: string) => boolean
