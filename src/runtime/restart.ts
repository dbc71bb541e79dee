import type { Plan } from '../core/plan.js'

/** Settings that a running process cannot change, named as they are written. */
export function needsRestart(running: Plan, wanted: Plan): readonly string[] {
  const differs = {
    'listen.host': running.listen.host !== wanted.listen.host,
    'listen.port': running.listen.port !== wanted.listen.port,
    'listen.tls': (running.listen.tls === undefined) !== (wanted.listen.tls === undefined),
    store: running.store.type !== wanted.store.type || running.store.path !== wanted.store.path,
    spool: JSON.stringify(running.spool) !== JSON.stringify(wanted.spool),
  }
  return Object.entries(differs)
    .filter(([, changed]) => changed)
    .map(([setting]) => setting)
}
