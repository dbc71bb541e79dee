import { topic } from '../core/peers.js'
import type { Kernel } from '../kernel/kernel.js'

/** What one process of the gateway knows of itself. */
interface WorkerState {
  /** 0: it is the only one. */
  readonly number: number
  readonly pid: number
  /** Since it began, seconds. */
  readonly uptime: number
  /** In flight. */
  readonly requests: number
  /** Plans in use, the one that serves first. */
  readonly generations: readonly GenerationState[]
}

interface GenerationState {
  readonly number: number
  readonly digest: string
  readonly serving: boolean
  /** Whether requests can name it. */
  readonly ready: boolean
  readonly requests: number
}

const STATE = topic<null, WorkerState>('admin: state')

/** This process answers the admin API of the others. */
export function answerPeers(kernel: Kernel): void {
  kernel.peers.on(STATE, () => stateOf(kernel))
}

/** Of all processes of the gateway that answer, by number. */
export async function statesOf(kernel: Kernel): Promise<readonly WorkerState[]> {
  const others = await kernel.peers.ask(STATE, null)
  return [stateOf(kernel), ...others.map(({ answer }) => answer)].sort((one, other) => one.number - other.number)
}

function stateOf(kernel: Kernel): WorkerState {
  const { generation, trial, kept, former, calls, peers } = kernel
  const ready = [generation, ...(trial === undefined ? [] : [trial.generation]), ...kept]
  return {
    number: peers.number,
    pid: process.pid,
    uptime: Math.floor(process.uptime()),
    requests: calls.size,
    generations: [...new Set([...ready, ...former])].map(one => ({
      number: one.number,
      digest: one.plan.digest,
      serving: one === generation,
      ready: ready.includes(one),
      requests: one.leases,
    })),
  }
}
