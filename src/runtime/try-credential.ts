import type { Config } from '../core/config.js'
import type { Upstream } from '../core/plan.js'
import { askCheapest } from '../kernel/cheapest-call.js'
import { Generation } from '../kernel/generation.js'
import { NoResponseError } from '../kernel/http-call.js'
import { Pools } from '../net/pools.js'
import { Embedded } from './embedded.js'
import { compileRead } from './load.js'
import { placesOf } from './places.js'

/** An answer to the cheapest call that an upstream has; `status` absent: there was none. */
export interface Tried {
  readonly call: string
  readonly status?: number
  readonly fault?: string
}

/**
 * Asks an upstream for its list of models, or by its declared probe, with the credential that requests would carry: also
 * one that has to be got first, or that signs. By upstream, undefined where it has no such call.
 */
export async function credentialTrier(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
): Promise<{ readonly tryAt: (name: string) => Promise<Tried | undefined>; readonly close: () => Promise<void> }> {
  const plan = await compileRead(config, '', {})
  const embedded = new Embedded()
  const pools = new Pools(plan.transport)
  await embedded.prepare(plan)
  const generation = new Generation(plan, 1, pools, placesOf(embedded, env))
  const tryAt = async (name: string): Promise<Tried | undefined> => {
    const upstream = plan.upstreams.get(name)
    return upstream?.off !== undefined ? undefined : upstream && ask(generation, upstream, timeoutMs)
  }
  const close = async (): Promise<void> => {
    await pools.destroy()
    await embedded.close()
  }
  return { tryAt, close }
}

async function ask(generation: Generation, upstream: Upstream, timeoutMs: number): Promise<Tried | undefined> {
  const { cheapest } = upstream
  if (cheapest === undefined) return undefined
  const { text: call } = cheapest.call
  try {
    return { call, status: (await askCheapest(generation, upstream, cheapest, { key: 'doctor', timeoutMs })).status }
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error
    return { call, fault: error.message }
  }
}
