/**
 * A call's target with the client's own query parameters behind it, but for those that `held` names and those that the
 * call sets itself.
 */
export function mergeQuery(target: string, client: URLSearchParams | undefined, held: Held): string {
  if (client === undefined) return target
  const mark = target.indexOf('?')
  const own = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1))
  const passed = [...client].filter(([name, value]) => !own.has(name) && !held(name, value))
  return passed.length === 0 ? target : `${target}${mark < 0 ? '?' : '&'}${new URLSearchParams(passed)}`
}

/** Whether a parameter stays with the gateway. */
export type Held = (name: string, value: string) => boolean
