import { cpuProfile, heapSnapshot, MAX_PROFILE_SECONDS } from '../profiling.js'
import { AdminError, type AdminRoute, COUNT, type StreamAnswer, TEXT } from '../route.js'

const DEFAULT_SECONDS = 10

/** With several workers any of them answers: the number says whose process it is, or must be. */
const WORKER = { worker: COUNT }

function checkWorker(wanted: string | undefined, own: number): void {
  if (wanted !== undefined && wanted !== String(own))
    throw new AdminError(409, 'other_worker', `worker ${own} has got this request: ask again on a new connection`)
}

export const debugCpu: AdminRoute = {
  method: 'POST',
  path: '/admin/debug/cpu-profile',
  summary:
    'Profiles the process that answers for some seconds, 10 unless the query says, at most 60: a .cpuprofile. One at a time. worker: refused by all others.',
  query: { seconds: COUNT, ...WORKER },
  status: 200,
  answer: TEXT,
  stream: 'application/json',
  async handle({ query: { seconds = String(DEFAULT_SECONDS), worker }, gone }, { kernel }): Promise<StreamAnswer> {
    checkWorker(worker, kernel.peers.number)
    const number = /^\d{1,2}$/.test(seconds) ? Number(seconds) : 0
    if (number < 1 || number > MAX_PROFILE_SECONDS)
      throw new AdminError(400, 'invalid_parameter', `seconds is a number from 1 to ${MAX_PROFILE_SECONDS}`)
    return { pieces: [await cpuProfile(number, gone)], file: `worker${kernel.peers.number}.cpuprofile` }
  },
}

export const debugHeap: AdminRoute = {
  method: 'POST',
  path: '/admin/debug/heap-snapshot',
  summary:
    'A snapshot of the heap of the process that answers: a .heapsnapshot. It holds everything that the process knows, secrets too, and the process does nothing else while it is made. worker: refused by all others.',
  query: WORKER,
  status: 200,
  answer: TEXT,
  stream: 'application/json',
  async handle({ query: { worker } }, { kernel }): Promise<StreamAnswer> {
    checkWorker(worker, kernel.peers.number)
    return { pieces: heapSnapshot(), file: `worker${kernel.peers.number}.heapsnapshot` }
  },
}
