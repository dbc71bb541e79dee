import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Caller, Refusal } from '../../../src/core/caller.js'
import type { Plan } from '../../../src/core/plan.js'
import { type Store, type StoredRecord, StoreError } from '../../../src/core/store.js'
import { Callers } from '../../../src/features/keys/callers.js'
import { MemoryStore } from '../../../src/stores/memory.js'
import { withResolvers } from '../../helpers/journal.js'
import { reached } from '../../helpers/store-keys.js'

// Look-ups of one process in a store, call by call.

/** A store that counts its reads, and can be away. */
class CountingStore extends MemoryStore {
  reads = 0
  isAway = false
  /** Called before each read. */
  onRead: (namespace: string) => Promise<void> = async () => undefined
  /** Called with what it has read already. */
  afterRead: (namespace: string) => Promise<void> = async () => undefined

  override async get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    this.reads++
    await this.onRead(namespace)
    if (this.isAway) throw new StoreError('unavailable', 'the store is away')
    const found = await super.get(namespace, owner, key)
    await this.afterRead(namespace)
    return found
  }
}

/** Keeps the event loop busy for so many milliseconds. */
function stall(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

const NAMES = new Set<string>()
const PLAN = {
  keys: {
    find: (presented: string): Refusal => ({ refused: 'unknown', digest: hash('sha256', presented) }),
    byDigest: (digest: string): Refusal => ({ refused: 'unknown', digest }),
    named: () => undefined,
    has: (name: string) => NAMES.has(name),
  },
} as unknown as Plan

interface Stage {
  readonly store: CountingStore
  readonly callers: Callers
  readonly faults: unknown[]
  find(presented: string): Promise<string>
  named(name: string): Promise<string>
}

function processOn(t: Test, store: CountingStore): Stage {
  const faults: unknown[] = []
  const callers = new Callers(store, error => faults.push(error))
  t.teardown(() => callers.close())
  callers.compile = ({ name }) => {
    const caller: Caller = { name, models: ['*'], may: () => true, strict: false }
    return { caller, disabled: false, expires: Number.POSITIVE_INFINITY }
  }
  const said = (found: Caller | Refusal): string => ('refused' in found ? found.refused : found.name)
  return {
    ...{ store, callers, faults },
    find: async presented => said(await callers.find(PLAN, presented, Date.now())),
    named: async name => said(await callers.named(PLAN, name, Date.now())),
  }
}

async function created(callers: Callers, name: string): Promise<string> {
  return (await callers.stored.create(name, {}))?.secret.reveal() ?? ''
}

t.test('guesses cost a call of the store twice a second at most', async t => {
  const store = new CountingStore()
  const { callers, find } = processOn(t, store)
  const secret = await created(callers, 'ann')
  t.equal(await find(secret), 'ann')
  const [before, since] = [store.reads, performance.now()]
  // The last character has two bits that say nothing: A and E differ in another one.
  const last = secret.at(-1) === 'A' ? 'E' : 'A'
  for (const guess of [`${secret.slice(0, -1)}${last}`, `${secret}A`, secret.slice(1), 'gw-', `gw-${'A'.repeat(43)}`]) {
    t.equal(await find(guess), 'unknown')
  }
  for (let at = 0; at < 1000; at++) t.equal(await find(`gw-${hash('sha256', `${at}`, 'base64url')}`), 'unknown')
  t.ok(store.reads - before <= 1 + (performance.now() - since) / 500)
})

t.test('guesses while the store is away are refused as ever', async t => {
  const store = new CountingStore()
  const { callers, find } = processOn(t, store)
  const secret = await created(callers, 'ann')
  store.isAway = true
  t.equal(await find(`gw-${'A'.repeat(43)}`), 'unknown')
  await t.rejects(find(secret), { code: 'unavailable', status: 503 })
})

t.test('a store that lost its content: keys made since are taken by every process', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const lost = await created(one.callers, 'ann')
  for (const { find } of [one, two]) t.equal(await find(lost), 'ann')
  await store.delete({ namespace: 'secrets', owner: 'gateway', key: 'caller-keys' })
  const made = [await created(one.callers, 'bob'), await created(processOn(t, store).callers, 'eve')]
  for (const { find } of [one, two, processOn(t, store)]) {
    for (const secret of made) t.equal(await reached('known', async () => known(await find(secret))), 'known')
  }
})

function known(found: string): string {
  return found === 'unknown' ? found : 'known'
}

t.test('a key is read once, however many ask at the same time, and then found without a promise', async t => {
  const store = new CountingStore()
  const maker = processOn(t, store)
  const { callers, find } = processOn(t, store)
  const secret = await created(maker.callers, 'ann')
  const before = store.reads
  t.same(new Set(await Promise.all(Array.from({ length: 100 }, () => find(secret)))), new Set(['ann']))
  t.equal(store.reads - before, 4, 'what secrets look like, the revision, the digest, the key')
  const found = callers.find(PLAN, secret, Date.now())
  t.notOk(found instanceof Promise)
  t.match(found, { name: 'ann' })
  t.match(callers.byDigest(PLAN, hash('sha256', secret), Date.now()), { name: 'ann' })
})

t.test('a revoked key is kept as such, until it changes again', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const secret = await created(one.callers, 'ann')
  t.equal(await two.find(secret), 'ann')
  await one.callers.stored.revoke('ann')
  t.equal(await reached('unknown', () => two.find(secret)), 'unknown')
  await one.callers.refresh()
  t.equal(await one.find(secret), 'unknown')
})

t.test('a change under way while its key is read is not missed', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const secret = await created(one.callers, 'ann')
  let isRead: () => void = () => undefined
  let goOn: () => void = () => undefined
  const read = new Promise<void>(resolve => {
    isRead = resolve
  })
  const held = new Promise<void>(resolve => {
    goOn = resolve
  })
  // The first process has announced, and is stopped before it deletes; the second reads the key meanwhile.
  const remove = store.delete.bind(store)
  store.delete = async place => {
    isRead()
    await held
    return await remove(place)
  }
  const revoked = one.callers.stored.revoke('ann')
  await read
  t.equal(await two.find(secret), 'ann')
  goOn()
  t.ok(await revoked)
  t.equal(await reached('unknown', () => two.find(secret)), 'unknown')
})

t.test('F-A10 a process whose event loop stalls polls before it admits a cached key again', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const secret = await created(one.callers, 'ann')
  t.equal(await two.find(secret), 'ann')
  await one.callers.stored.revoke('ann')
  stall(1000)
  t.equal(await two.find(secret), 'unknown')
})

t.test('F-A10 a poll that began too long ago confirms nothing', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const secret = await created(one.callers, 'ann')
  t.equal(await two.find(secret), 'ann')
  const held = withResolvers<void>()
  store.afterRead = async namespace => {
    if (namespace !== 'key-revisions') return
    store.afterRead = async () => undefined
    await held.promise
  }
  const polled = two.callers.refresh()
  await one.callers.stored.revoke('ann')
  stall(1000)
  const found = two.find(secret)
  held.resolve()
  t.equal(await found, 'unknown')
  await polled
})

t.test('a process that missed very many changes reads all keys again', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const secret = await created(one.callers, 'ann')
  t.equal(await two.find(secret), 'ann')
  two.callers.close()
  await one.callers.stored.revoke('ann')
  for (let at = 0; at < 100; at++) await created(one.callers, `other-${at}`)
  t.equal(await two.find(secret), 'unknown')
})

t.test('while the store is away, known keys work, and others are refused as unavailable', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const [ann, bob] = [await created(one.callers, 'ann'), await created(one.callers, 'bob')]
  t.equal(await two.find(ann), 'ann')
  store.isAway = true
  await two.callers.refresh()
  t.equal(two.faults.length, 1)
  t.equal(await two.find(ann), 'ann')
  await t.rejects(two.find(bob), { code: 'unavailable', status: 503 })
  t.equal(await two.find('gw-guess'), 'unknown')
  two.callers.close()
  t.equal(await two.find(ann), 'ann', 'also if it was not used for a while')
  store.isAway = false
  t.equal(await two.find(bob), 'bob')
})

t.test('what was signed in place of a known key costs no call of the store, and works while it is away', async t => {
  const store = new CountingStore()
  const [one, two] = [processOn(t, store), processOn(t, store)]
  const [ann] = [
    await created(one.callers, 'ann'),
    await created(one.callers, 'bob'),
    await created(one.callers, 'eve'),
  ]
  t.equal(await two.find(ann), 'ann')
  t.equal(await two.named('bob'), 'bob')
  store.isAway = true
  await two.callers.refresh()
  const before = store.reads
  for (const name of ['ann', 'bob']) t.equal(await two.named(name), name)
  t.equal(store.reads, before)
  await t.rejects(two.named('eve'), { code: 'unavailable', status: 503 })
  store.isAway = false
  await one.callers.stored.revoke('bob')
  t.equal(await reached('unknown', () => two.named('bob')), 'unknown')
})

t.test('a key of the file wins a name', async t => {
  const store = new CountingStore()
  const { callers, find } = processOn(t, store)
  const told: string[] = []
  callers.onFault = (name, fault) => told.push(`${name} ${fault}`)
  const secret = await created(callers, 'ann')
  NAMES.add('ann')
  t.teardown(() => NAMES.clear())
  t.equal(await find(secret), 'disabled')
  t.equal(await find(secret), 'disabled')
  t.same(told, ['ann name'], 'it is told once a plan')
})

t.test('two that create one name at the same time: one has it', async t => {
  const store: Store = new CountingStore()
  const { stored } = new Callers(store, () => undefined)
  const made = await Promise.all(Array.from({ length: 10 }, () => stored.create('ann', {})))
  t.equal(made.filter(one => one !== undefined).length, 1)
  const digest = made.find(one => one !== undefined)?.key.secrets[0]?.sha256 ?? ''
  t.match(await stored.findByDigest(digest), { name: 'ann' })
})
