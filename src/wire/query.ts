import { fold } from './control-names.js'

/**
 * A call's target with the client's own query parameters behind it, but for those that `isReserved` names and those that the
 * call sets itself, in whatever spelling a server may take for that.
 */
export function mergeQuery(target: string, client: URLSearchParams | undefined, isReserved: IsReserved): string {
  if (client === undefined) return target
  const mark = target.indexOf('?')
  const own = new Set(Array.from(new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)).keys(), base))
  const passed = [...client].filter(([name, value]) => !own.has(base(name)) && !isReserved(name, value))
  return passed.length === 0 ? target : `${target}${mark < 0 ? '?' : '&'}${new URLSearchParams(passed)}`
}

/** A name as the most lenient servers compare it: folded, and without the brackets of lists. */
function base(name: string): string {
  return fold(name.replace(/\[.*$/s, '').trim())
}

/** Whether a parameter stays with the gateway. */
export type IsReserved = (name: string, value: string) => boolean
