import type { Store } from '../core/store.js'

/** Hears of each operation that has ended. */
type OnOperation = (operation: string, milliseconds: number, isGood: boolean) => void

/** A store whose operations are timed while `isTimed` says so; blobs, which are read in pieces, are not. */
export function timedStore(store: Store, isTimed: () => boolean, onOperation: OnOperation): Store {
  const timed = <T>(operation: string, running: Promise<T>): Promise<T> => {
    if (!isTimed()) return running
    const since = performance.now()
    const ended = (isGood: boolean): void => onOperation(operation, performance.now() - since, isGood)
    // A store of the user's own may answer at once.
    Promise.resolve(running).then(
      () => ended(true),
      () => ended(false),
    )
    return running
  }
  const { accounts } = store
  return {
    create: draft => timed('create', store.create(draft)),
    get: (namespace, owner, key) => timed('get', store.get(namespace, owner, key)),
    replace: (current, next) => timed('replace', store.replace(current, next)),
    delete: current => timed('delete', store.delete(current)),
    list: (namespace, owner, range) => timed('list', store.list(namespace, owner, range)),
    claim: (namespace, claim) => timed('claim', store.claim(namespace, claim)),
    nextDue: namespace => timed('next_due', store.nextDue(namespace)),
    scan: (namespace, range) => timed('scan', store.scan(namespace, range)),
    accounts: {
      commit: commit => timed('commit', accounts.commit(commit)),
      read: (names, now) => timed('read', accounts.read(names, now)),
      entries: (day, range) => timed('entries', accounts.entries(day, range)),
      days: () => accounts.days(),
      dropDay: day => timed('drop_day', accounts.dropDay(day)),
    },
    blobs: store.blobs,
    sweep: (now, limit) => timed('sweep', store.sweep(now, limit)),
    close: () => store.close(),
  }
}
