import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

export interface ChangingName {
  /** How often it was looked up. */
  asked: number
}

/**
 * A name that leads to the next of these addresses each time that it is looked up, and at last to the last one again and again. The
 * whole gateway of this process sees it; other names are looked up as usual.
 */
export function changingName(t: Test, name: string, addresses: readonly string[]): ChangingName {
  const state: ChangingName = { asked: 0 }
  const usual = dns.promises.lookup
  const set = (lookup: unknown): void => {
    dns.promises.lookup = lookup as typeof usual
    syncBuiltinESMExports()
  }
  set(async (host: string, options: object) => {
    if (host !== name) return await usual(host, options)
    const address = addresses[Math.min(state.asked, addresses.length - 1)] ?? ''
    state.asked += 1
    return [{ address, family: address.includes(':') ? 6 : 4 }]
  })
  t.teardown(() => set(usual))
  return state
}
