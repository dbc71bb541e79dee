import type { ScanRange, StoredRecord } from '../core/store.js'
import { type Check, draft, HOUR_MS, keys, made, plain, START, text } from './store-stage.js'

const SECOND_MS = 1000

/** What every driver does with records that are due some time. */
export function leaseContract(check: Check): void {
  check('a record is due when it was said to be, and only then', async (t, store) => {
    await made(store, draft('a', { due: START + SECOND_MS }))
    t.equal((await store.get('things', 'ann', 'a'))?.due, START + SECOND_MS)
    t.same(await store.claim('things', { now: START + SECOND_MS - 1, until: START + HOUR_MS, limit: 10 }), [])
    t.same(keys(await store.claim('things', { now: START + SECOND_MS, until: START + HOUR_MS, limit: 10 })), ['a'])
  })

  check('what was never said to be due is never claimed', async (t, store) => {
    await made(store, draft('a'))
    t.same(await store.claim('things', { now: START + HOUR_MS - 1, until: START + 2 * HOUR_MS, limit: 10 }), [])
    t.equal(await store.nextDue('things'), undefined)
  })

  check('a claim counts fence and version up, and keeps the rest', async (t, store) => {
    const first = await made(store, draft('a', { due: START, value: Buffer.from([7]) }))
    const [claimed] = await store.claim('things', { now: START, until: START + SECOND_MS, limit: 1 })
    const version = first.version + 1
    t.same(plain(claimed), { ...draft('a'), value: [7], due: START + SECOND_MS, version, fence: 1 })
    t.same(plain(await store.get('things', 'ann', 'a')), plain(claimed))
  })

  check('the earliest comes first, of all owners, as many as are asked for', async (t, store) => {
    await made(store, draft('c', { due: START + 3 }))
    await made(store, draft('a', { due: START + 1, owner: 'bob' }))
    await made(store, draft('b', { due: START + 2, owner: 'cleo' }))
    await made(store, draft('z', { due: START, namespace: 'others' }))
    const claim = { now: START + 10, until: START + HOUR_MS }
    t.same(keys(await store.claim('things', { ...claim, limit: 2 })), ['a', 'b'])
    t.same(keys(await store.claim('things', { ...claim, limit: 2 })), ['c'])
    t.same(keys(await store.claim('things', { ...claim, limit: 2 })), [])
  })

  check('of many claimers at once each gets other records', async (t, store) => {
    for (let n = 0; n < 40; n++) await made(store, draft(`k${n}`, { due: START, owner: `owner${n % 7}` }))
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => store.claim('things', { now: START, until: START + SECOND_MS, limit: 5 })),
    )
    const rest = await store.claim('things', { now: START, until: START + SECOND_MS, limit: 100 })
    const all = keys([...claims.flat(), ...rest])
    t.equal(all.length, 40)
    t.equal(new Set(all).size, 40)
    t.ok(claims.every(one => one.length <= 5))
  })

  check('F-T5 a lease that ends is taken over, and who held it before loses', async (t, store) => {
    await made(store, draft('a', { due: START }))
    const [first] = await store.claim('things', { now: START, until: START + SECOND_MS, limit: 1 })
    t.same(await store.claim('things', { now: START + SECOND_MS - 1, until: START + HOUR_MS, limit: 1 }), [])
    const [second] = await store.claim('things', { now: START + SECOND_MS, until: START + 2 * SECOND_MS, limit: 1 })
    t.equal(second?.fence, 2)
    t.equal(await store.replace(first as StoredRecord, { value: Buffer.from('late'), due: START }), undefined)
    t.equal(text(await store.get('things', 'ann', 'a')), 'value of a')
    t.equal((await store.get('things', 'ann', 'a'))?.fence, 2)
  })

  check('F-T5 who holds a record renews the lease, and gives it back', async (t, store) => {
    await made(store, draft('a', { due: START }))
    const [held] = await store.claim('things', { now: START, until: START + SECOND_MS, limit: 1 })
    const renewed = await store.replace(held as StoredRecord, { value: Buffer.from('1'), due: START + 5 * SECOND_MS })
    t.same([renewed?.due, renewed?.fence], [START + 5 * SECOND_MS, 1])
    t.same(await store.claim('things', { now: START + 2 * SECOND_MS, until: START + HOUR_MS, limit: 1 }), [])
    const kept = await store.replace(renewed as StoredRecord, { value: Buffer.from('2') })
    t.equal(kept?.due, START + 5 * SECOND_MS, 'a change that says nothing of it leaves it')
    const back = await store.replace(kept as StoredRecord, { value: Buffer.from('3'), due: null })
    t.equal(back?.due, undefined)
    t.same(plain(await store.get('things', 'ann', 'a')), plain(back))
    t.same(await store.claim('things', { now: START + 50 * SECOND_MS, until: START + HOUR_MS, limit: 1 }), [])
    t.equal(await store.nextDue('things'), undefined)
    await store.replace(back as StoredRecord, { value: Buffer.from('4'), due: START + SECOND_MS })
    t.equal(await store.nextDue('things'), START + SECOND_MS)
  })

  check('the next due record is known, held ones included', async (t, store) => {
    t.equal(await store.nextDue('things'), undefined)
    await made(store, draft('b', { due: START + 20, owner: 'bob' }))
    await made(store, draft('a', { due: START + 10 }))
    await made(store, draft('z', { due: START + 1, namespace: 'others' }))
    t.equal(await store.nextDue('things'), START + 10)
    await store.claim('things', { now: START + 10, until: START + 500, limit: 1 })
    t.equal(await store.nextDue('things'), START + 20)
    await store.claim('things', { now: START + 20, until: START + 700, limit: 1 })
    t.equal(await store.nextDue('things'), START + 500)
    await store.delete(draft('a'))
    t.equal(await store.nextDue('things'), START + 700)
  })

  check('what has expired is not claimed, and not waited for', async (t, store, clock) => {
    await made(store, draft('a', { due: START, expires: START + SECOND_MS }))
    clock.now = START + SECOND_MS
    t.same(await store.claim('things', { now: clock.now, until: START + HOUR_MS, limit: 10 }), [])
    t.equal(await store.nextDue('things'), undefined)
  })

  check('sweeping takes what was due with its moment', async (t, store, clock) => {
    await made(store, draft('a', { due: START + 5 * SECOND_MS, expires: START + SECOND_MS }))
    clock.now = START + 2 * SECOND_MS
    t.equal(await store.sweep(clock.now, 10), 1)
    t.equal(await store.nextDue('things'), undefined)
    t.same(await store.claim('things', { now: START + 9 * SECOND_MS, until: START + HOUR_MS, limit: 10 }), [])
  })

  check('an expired key that is used again is due by its new record only', async (t, store, clock) => {
    await made(store, draft('a', { due: START + 1, expires: START + SECOND_MS }))
    clock.now = START + SECOND_MS
    await made(store, draft('a', { due: START + 5 * SECOND_MS, created: clock.now }))
    t.equal(await store.nextDue('things'), START + 5 * SECOND_MS)
    t.same(await store.claim('things', { now: START + 2 * SECOND_MS, until: START + HOUR_MS, limit: 10 }), [])
    t.equal(
      (await store.claim('things', { now: START + 5 * SECOND_MS, until: START + HOUR_MS, limit: 10 }))[0]?.fence,
      1,
    )
  })

  check('all records of a namespace are walked through, each owner’s together and in order', async (t, store) => {
    for (let n = 0; n < 30; n++) {
      await made(store, draft(`k${String(n).padStart(2, '0')}`, { owner: `o${n % 4}`, created: START + (n % 5) }))
    }
    await made(store, draft('z', { namespace: 'others' }))
    const seen: StoredRecord[] = []
    for (;;) {
      const after = seen.at(-1)
      const page = await store.scan('things', { limit: 7, ...(after && { after }) })
      t.ok(page.length <= 7)
      seen.push(...page)
      if (page.length === 0) break
    }
    t.equal(seen.length, 30)
    t.equal(new Set(keys(seen)).size, 30)
    const owners = seen.map(({ owner }) => owner).filter((owner, n, all) => owner !== all[n - 1])
    t.equal(owners.length, 4, owners.join())
    for (const owner of owners) {
      const list = await store.list('things', owner, { order: 'ascending', limit: 100 })
      t.same(keys(seen.filter(record => record.owner === owner)), keys(list))
    }
    t.same(await store.scan('nothing', { limit: 5 }), [])
  })

  check('a scan continues behind all that an owner has, from one owner to the next', async (t, store) => {
    const owners = Array.from({ length: 40 }, (_, n) => `owner-${n}`)
    owners.push('owner', 'owner-1!', 'owner-1~')
    for (const owner of owners) {
      for (let n = 0; n < 3; n++) await store.create(draft(`k${n}`, { owner, created: START + n }))
    }
    const seen: string[] = []
    for (let after: ScanRange['after']; ; ) {
      const found = await store.scan('things', { limit: 1, ...(after && { after }) })
      const [first] = found
      if (first === undefined) break
      t.equal(found.length, 1)
      seen.push(first.owner)
      after = { owner: first.owner, created: Number.MAX_SAFE_INTEGER, key: '~' }
    }
    t.same([...seen].sort(), [...owners].sort(), 'each owner once')
  })

  check('a walk passes over what has expired', async (t, store, clock) => {
    await made(store, draft('a', { expires: START + SECOND_MS }))
    await made(store, draft('b', { created: START + 1 }))
    clock.now = START + SECOND_MS
    t.same(keys(await store.scan('things', { limit: 1 })), ['b'])
  })
}
