import type { Plan } from '../core/plan.js'
import { Secret } from '../core/secret.js'

/** What of the admin listener a reload changes. */
const LIVE_ADMIN = { digest: undefined, metrics: undefined, write: undefined, oidc: undefined }

/** What a process has from its start to its end. */
export type StartSettings = Pick<Plan, 'listen' | 'store' | 'spool' | 'transport' | 'admin' | 'workers'>

/** Settings that a running process cannot change, named as they are written. */
export function needsRestart(running: StartSettings, wanted: StartSettings): readonly string[] {
  const changes = {
    'listen.host': running.listen.host !== wanted.listen.host,
    'listen.port': running.listen.port !== wanted.listen.port,
    'listen.backlog': running.listen.backlog !== wanted.listen.backlog,
    'listen.tls': (running.listen.tls === undefined) !== (wanted.listen.tls === undefined),
    'listen.tls.client_ca': asksForCertificates(running) !== asksForCertificates(wanted),
    store: textOf(running.store) !== textOf(wanted.store),
    transport: running.transport !== wanted.transport,
    workers: running.workers !== wanted.workers,
    admin: textOf({ ...running.admin, ...LIVE_ADMIN }) !== textOf({ ...wanted.admin, ...LIVE_ADMIN }),
    // The folder is usually inside the store's folder, which was reported already.
    spool: differs(running.spool, wanted.spool, running.store.path === wanted.store.path),
  }
  return Object.entries(changes)
    .filter(([, changed]) => changed)
    .map(([setting]) => setting)
}

function asksForCertificates({ listen }: StartSettings): boolean {
  return listen.tls?.clientCa !== undefined
}

/** All of it, secrets too: a changed password is a change. */
function textOf(settings: object): string {
  return JSON.stringify(settings, function (this: Record<string, unknown>, name, value: unknown) {
    const inner = this[name]
    return inner instanceof Secret ? inner.reveal() : value
  })
}

function differs(running: Plan['spool'], wanted: Plan['spool'], isSameStore: boolean): boolean {
  const { body, memory, disk } = running
  if (body !== wanted.body || memory !== wanted.memory || disk !== wanted.disk) return true
  return isSameStore && running.path !== wanted.path
}
