// Holds processes to a share of a core, by the control groups of Linux, where this user may make any.
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Short, so that a process which has used up its share waits for milliseconds. */
const PERIOD_US = 10_000
/** Version 1 of control groups has a tree for each resource, version 2 one for all. */
const V1 = '/sys/fs/cgroup/cpu'
const V2 = '/sys/fs/cgroup'

const made = []

/** Holds a process to `share` of a core; false where control groups cannot be made. */
export function holdToShare({ pid }, share) {
  const quota = Math.round(share * PERIOD_US)
  const isV1 = existsSync(V1)
  const folder = join(isV1 ? V1 : V2, `gateway-bench-${pid}`)
  try {
    mkdirSync(folder)
    made.push(folder)
    if (isV1) {
      writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US))
      writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quota))
    } else {
      writeFileSync(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`)
    }
    writeFileSync(join(folder, 'cgroup.procs'), String(pid))
    return true
  } catch {
    return false
  }
}

/** Takes back the groups of processes that have ended. */
export function removeShares() {
  for (const folder of made) {
    try {
      rmdirSync(folder)
    } catch {
      // A process of it still runs, or it was never made.
    }
  }
}
