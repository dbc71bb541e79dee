import type { Sink } from '../../core/entry.js'
import type { Plan, Route } from '../../core/plan.js'
import { FEATURES } from '../../features/index.js'
import type { Chain } from '../../kernel/chain.js'
import { Generation } from '../../kernel/generation.js'
import { Kernel } from '../../kernel/kernel.js'
import { Pipeline } from '../../kernel/pipeline.js'
import type { Feature } from '../../kernel/stages.js'
import { Pools } from '../../net/pools.js'
import { MemoryStore } from '../../stores/memory.js'

/** By route, undefined for paths that no route has: the names of its stages by phase. */
export type StageNames = ReadonlyMap<Route | undefined, Chain['names']>

/**
 * The stages that a gateway would run with this plan, from the same code. Nothing listens, no upstream is asked, and the
 * store is an empty one in memory. The plan is compiled as for a reload that is then given up: features begin nothing.
 */
export async function stageNames(plan: Plan, features: readonly Feature[] = FEATURES): Promise<StageNames> {
  const pools = new Pools(plan.transport)
  const store = new MemoryStore()
  const pipeline = new Pipeline(features)
  const kernel = new Kernel(new Generation(withoutWork(plan), 1, pools, NOWHERE), SILENT, store, pipeline)
  try {
    pipeline.compile(kernel, plan)
    return new Map([undefined, ...plan.routes].map(route => [route, pipeline.chainOf(plan, route).names]))
  } finally {
    await pipeline.close(kernel)
    await pools.destroy()
    await store.close()
  }
}

/** What features begin as they are opened is not in it: exports to a collector, receipts, probes of upstreams and their tokens. */
function withoutWork(plan: Plan): Plan {
  const { receipts: _, ...rest } = plan
  return {
    ...rest,
    ...{ telemetry: undefined, upstreams: new Map(), routes: [] },
    match: plan.match.bind(plan),
    scopeOf: plan.scopeOf.bind(plan),
  }
}

/** Never asked: the address that stands for nothing (RFC 6761). */
const NOWHERE = { origin: () => 'http://upstream.invalid', headers: () => [] }

const nothing = (): void => undefined
const SILENT: Sink = {
  ...{ record: nothing, recordGood: nothing, debug: nothing, trace: nothing },
  ...{ debugs: false, traces: false },
}
