import { totalmem } from 'node:os'
import { processors as countProcessors } from '../../core/processors.js'
import { descriptorLimit, descriptorsWanted } from '../../runtime/descriptors.js'
import { type Check, ok, type Patient, type Result, skipped, warning } from './result.js'

const MIB = 1024 ** 2
/** What a process takes before it serves anything, bytes. */
const BASE_BYTES = 128 * MIB
/** Of all memory: the rest is for the system and for what the bounds do not count. */
const SHARE = 0.9

/** Whether this machine has what the limits of the configuration allow to be used. */
export const checkResources: Check = async patient => [descriptors(patient), memory(patient), processors(patient)]

function descriptors({ plan }: Patient): Result {
  const limit = descriptorLimit()
  const wanted = descriptorsWanted(plan)
  if (limit === undefined) return skipped('ulimit', 'open files', 'this system does not say')
  if (limit >= wanted) return ok('ulimit', 'open files', `${limit}, and ${wanted} are enough`)
  const found = `${limit}, and limits.in_flight and limits.connections allow ${wanted}`
  return warning(
    'ulimit',
    'open files',
    found,
    `ulimit -n ${wanted}, or LimitNOFILE=${wanted} in the unit, or lower the limits.`,
  )
}

function memory({ config: { limits, spool, workers } }: Patient): Result {
  const constrained = process.constrainedMemory?.() ?? 0
  // Without a bound, some versions of Node give 0, and others a number beyond all memory.
  const bound = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  // Objects of requests and of answers have a bound each.
  const each = BASE_BYTES + 2 * limits.memory + limits.body_memory + spool.memory
  const most = each * workers
  const found = `${mib(bound)} MiB; ${workers === 1 ? 'the process' : `${workers} processes`} may use ${mib(most)} MiB`
  if (most <= bound * SHARE) return ok('memory', 'this machine', found)
  const advice = 'Lower limits.memory, limits.body_memory, spool.memory or workers, or give it more.'
  return warning('memory', 'this machine', found, advice)
}

function processors({ config: { workers } }: Patient): Result {
  const cores = countProcessors()
  const found = `${cores}, for ${workers === 1 ? '1 process' : `${workers} processes`}`
  if (workers <= cores) return ok('processors', 'this machine', found)
  return warning('processors', 'this machine', found, `Write workers: ${cores}, or workers: auto.`)
}

function mib(bytes: number): number {
  return Math.round(bytes / MIB)
}
