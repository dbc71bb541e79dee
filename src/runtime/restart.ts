import type { Plan } from '../core/plan.js'

function differs(running: Plan['spool'], wanted: Plan['spool'], isSameStore: boolean): boolean {
  const { body, memory, disk } = running
  if (body !== wanted.body || memory !== wanted.memory || disk !== wanted.disk) return true
  return isSameStore && running.path !== wanted.path
}

/** Settings that a running process cannot change, named as they are written. */
export function needsRestart(running: Plan, wanted: Plan): readonly string[] {
  const changes = {
    'listen.host': running.listen.host !== wanted.listen.host,
    'listen.port': running.listen.port !== wanted.listen.port,
    'listen.tls': (running.listen.tls === undefined) !== (wanted.listen.tls === undefined),
    store: running.store.type !== wanted.store.type || running.store.path !== wanted.store.path,
    // The folder usually stands in the store's, which has been told already.
    spool: differs(running.spool, wanted.spool, running.store.path === wanted.store.path),
  }
  return Object.entries(changes)
    .filter(([, changed]) => changed)
    .map(([setting]) => setting)
}
