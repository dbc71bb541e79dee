import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Plan } from '../core/plan.js'
import type { Log } from '../sinks/log.js'

/** What a process has open besides connections: the store, the log, watched files, the runtime's own. */
const OWN_DESCRIPTORS = 64
/** Descriptors that are reserved for upstreams and files: an eighth of all, within these bounds. */
const MIN_RESERVED_DESCRIPTORS = 16
const MAX_RESERVED_DESCRIPTORS = 1024

/** Most descriptors that this process may have open (`ulimit -n`); undefined where the system does not say. */
export function descriptorLimit(): number | undefined {
  const limit = process.platform === 'linux' ? limitOfProc() : limitOfReport()
  return Number.isInteger(limit) ? limit : undefined
}

/** From proc_pid_limits(5), in next to no time. */
function limitOfProc(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1])
  } catch {
    return Number.NaN
  }
}

/** Elsewhere the runtime's own report says it, which takes some tens of milliseconds to make. */
function limitOfReport(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  return Number(userLimits?.open_files?.soft)
}

/** What a process needs that uses up all that the limits allow. */
export function descriptorsWanted({ limits, upstreams }: Plan): number {
  const reached = [...upstreams.values()].filter(({ off }) => off === undefined).length
  return OWN_DESCRIPTORS + limits.in_flight + reached * limits.connections
}

/**
 * Calls for each client's connection that takes one of the last descriptors. The system gives out the lowest number that
 * is free, so the number of a new connection says how many are in use.
 */
export function onCrowded(server: Server | HttpsServer, limit: number, crowded: (socket: Socket) => void): void {
  const first = limit - Math.min(MAX_RESERVED_DESCRIPTORS, Math.max(MIN_RESERVED_DESCRIPTORS, Math.floor(limit / 8)))
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  server.on(event, (socket: Socket) => {
    if (descriptorOf(socket) >= first) crowded(socket)
  })
}

/** Below 0 where the runtime does not say. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null }
  return handle?.fd ?? -1
}

/** Under load such a process refuses what its limits would allow. */
export function warnOfDescriptors(plan: Plan, limit: number | undefined, log: Log): void {
  const needed = descriptorsWanted(plan)
  if (limit === undefined || limit >= needed) return
  log.warn(
    { limit: 'descriptors', open_files: limit, needed },
    'too few file descriptors for what limits.in_flight and limits.connections allow: raise `ulimit -n`, or lower them',
  )
}
