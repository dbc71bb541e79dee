import { MAX_VALUE_BYTES, type StoredRecord, StoreError } from '../core/store.js'
import { type Check, draft, HOUR_MS, keys, made, plain, START, text } from './store-stage.js'

/** What every driver does with records. */
export function recordContract(check: Check): void {
  check('a record is found as it was kept', async (t, store) => {
    const made = await store.create(draft('a', { value: Buffer.from([0, 255, 10]) }))
    const found = await store.get('things', 'ann', 'a')
    t.same(plain(found), { ...draft('a'), value: [0, 255, 10], version: found?.version, fence: 0 })
    t.same(plain(made), plain(found))
  })

  check('an empty value is a value', async (t, store) => {
    await store.create(draft('a', { value: Buffer.alloc(0) }))
    t.equal((await store.get('things', 'ann', 'a'))?.value.length, 0)
  })

  check('what was read stays as it was, also if more is read or written afterwards', async (t, store) => {
    await store.create(draft('a', { value: Buffer.from('first') }))
    await store.create(draft('b', { value: Buffer.from('other') }))
    const found = await store.get('things', 'ann', 'a')
    if (found === undefined) throw new Error('it was kept')
    await store.replace(found, { value: Buffer.from('later') })
    await store.get('things', 'ann', 'b')
    await store.get('things', 'ann', 'a')
    t.equal(text(found), 'first')
  })

  check('a large value comes back whole', async (t, store) => {
    const value = Buffer.alloc(3 * 1024 * 1024, 'abc')
    await store.create(draft('a', { value }))
    t.ok(value.equals((await store.get('things', 'ann', 'a'))?.value ?? Buffer.alloc(0)))
  })

  check('a key is taken once', async (t, store) => {
    await store.create(draft('a', { value: Buffer.from('first') }))
    t.equal(await store.create(draft('a', { value: Buffer.from('second') })), undefined)
    t.equal(text(await store.get('things', 'ann', 'a')), 'first')
  })

  check('of many that take a key at once, one gets it', async (t, store) => {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, n) => store.create(draft('a', { value: Buffer.from(`${n}`) }))),
    )
    const won = made.filter(one => one !== undefined)
    t.equal(won.length, 1)
    t.equal(text(await store.get('things', 'ann', 'a')), text(won[0]))
  })

  check('owners and namespaces do not see one another', async (t, store) => {
    await store.create(draft('a', { value: Buffer.from("ann's") }))
    await store.create(draft('a', { owner: 'bob', value: Buffer.from("bob's") }))
    t.equal(text(await store.get('things', 'ann', 'a')), "ann's")
    t.equal(text(await store.get('things', 'bob', 'a')), "bob's")
    t.equal(await store.get('things', 'cleo', 'a'), undefined)
    t.equal(await store.get('others', 'ann', 'a'), undefined)
    t.equal(await store.get('things', 'ann', 'b'), undefined)
  })

  check('of reads at once each finds its own', async (t, store, clock) => {
    const names = Array.from({ length: 50 }, (_, n) => [`k${n}`, `{"${n}\\',NULL}`, `${n}%$1;--`]).flat()
    await Promise.all(
      names.map((name, n) => store.create(draft(name, { value: Buffer.from(`value ${n}`), expires: expiryOf(n) }))),
    )
    clock.now = START + HOUR_MS
    const reads = [...names, ...names.slice(0, 7)].map(name => store.get('things', 'ann', name))
    const foreign = names.map(name => store.get('things', 'bob', name))
    const found = await Promise.all(reads)
    for (const [n, name] of names.entries()) {
      const wanted = expiryOf(n) > clock.now ? [name, `value ${n}`] : undefined
      t.same(found[n] && [found[n]?.key, text(found[n])], wanted)
    }
    t.same(found.slice(names.length).map(text), found.slice(0, 7).map(text))
    t.same(new Set(await Promise.all(foreign)), new Set([undefined]))
  })

  check('a read among many finds what was written before it', async (t, store) => {
    const versions = async (name: string): Promise<number[]> => {
      const seen: number[] = []
      let current: StoredRecord | undefined = await made(store, draft(name))
      const { version } = current
      while (current !== undefined && current.version < version + 7) {
        current = await store.replace(current, { value: Buffer.from(name) })
        seen.push(((await store.get('things', 'ann', name))?.version ?? 0) - version)
      }
      return seen
    }
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => versions(`k${n}`)))
    for (const seen of all) t.same(seen, [1, 2, 3, 4, 5, 6, 7])
  })

  check('a key that no one could have made finds nothing', async (t, store) => {
    for (const key of ['', 'a b', 'é', 'a\0', '\n', 'x'.repeat(257)]) {
      t.equal(await store.get('things', 'ann', key), undefined, JSON.stringify(key))
      t.equal(await store.delete({ namespace: 'things', owner: 'ann', key }), false, JSON.stringify(key))
      await t.rejects(store.create(draft(key)), { name: 'StoreError' }, JSON.stringify(key))
    }
    t.same(await store.list('things', 'a b', { order: 'ascending', limit: 1 }), [])
  })

  check('a value over the limit is refused, and nothing of it stays', async (t, store) => {
    const value = Buffer.alloc(MAX_VALUE_BYTES + 1)
    const error = await store.create(draft('a', { value })).catch((cause: unknown) => cause)
    t.ok(error instanceof StoreError && error.fault === 'full')
    t.equal(await store.get('things', 'ann', 'a'), undefined)
  })

  check('a change counts the version up and keeps the rest', async (t, store) => {
    const first = await made(store, draft('a'))
    const second = await store.replace(first, { value: Buffer.from('two') })
    const third = second && (await store.replace(second, { value: Buffer.from('three'), expires: START + 2 * HOUR_MS }))
    t.equal(third?.version, first.version + 2)
    const found = await store.get('things', 'ann', 'a')
    t.same(plain(found), {
      ...draft('a'),
      expires: START + 2 * HOUR_MS,
      value: [...Buffer.from('three')],
      version: first.version + 2,
      fence: 0,
    })
  })

  check('a change of what has changed meanwhile does nothing', async (t, store) => {
    const first = await made(store, draft('a'))
    await store.replace(first, { value: Buffer.from('two') })
    t.equal(await store.replace(first, { value: Buffer.from('lost') }), undefined)
    t.equal(text(await store.get('things', 'ann', 'a')), 'two')
  })

  check('of many changes of one version, one holds', async (t, store) => {
    const first = await made(store, draft('a'))
    const changes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        store.replace(first, { value: Buffer.from(`${n}`), expires: START + HOUR_MS + n }),
      ),
    )
    const won = changes.filter(one => one !== undefined)
    t.equal(won.length, 1)
    t.same(plain(await store.get('things', 'ann', 'a')), plain(won[0]))
  })

  check('counting up together loses no step', async (t, store) => {
    await store.create(draft('n', { value: Buffer.from('0') }))
    const step = async (): Promise<void> => {
      for (;;) {
        const current = await store.get('things', 'ann', 'n')
        if (current === undefined) throw new Error('it is there')
        const value = Buffer.from(String(Number(text(current)) + 1))
        if ((await store.replace(current, { value })) !== undefined) return
      }
    }
    await Promise.all(Array.from({ length: 25 }, step))
    t.equal(text(await store.get('things', 'ann', 'n')), '25')
  })

  check('what is deleted is gone, and its key is free', async (t, store) => {
    const first = await made(store, draft('a'))
    t.equal(await store.delete(first), true)
    t.equal(await store.get('things', 'ann', 'a'), undefined)
    t.equal(await store.delete(first), false)
    t.equal(await store.replace(first, { value: Buffer.from('ghost') }), undefined)
    t.not(await store.create(draft('a')), undefined)
  })

  check('who holds a deleted record does not touch the one that took its place', async (t, store, clock) => {
    const first = await made(store, draft('a', { due: START + 1 }))
    await store.delete(first)
    const second = await made(store, draft('a', { due: START + 2, value: Buffer.from('new') }))
    t.equal(await store.replace(first, { value: Buffer.from('stale'), due: null }), undefined)
    t.equal(await store.delete(first), false)
    t.same(plain(await store.get('things', 'ann', 'a')), plain(second))
    t.equal(await store.nextDue('things'), START + 2)
    clock.now = second.expires
    const third = await made(store, draft('a', { created: clock.now, expires: clock.now + HOUR_MS }))
    t.equal(await store.replace({ ...second, expires: third.expires }, { value: Buffer.from('stale') }), undefined)
    t.equal(await store.delete(second), false)
    t.same(plain(await store.get('things', 'ann', 'a')), plain(third))
  })

  check('owners and keys are any visible ASCII, the last ones too', async (t, store, clock) => {
    const names = ['!', '~', '~~', '~a', 'a~']
    for (const owner of names) for (const key of names) await made(store, draft(key, { owner, due: START }))
    const range = { order: 'ascending', limit: 100 } as const
    for (const owner of names) t.same(keys(await store.list('things', owner, range)), [...names].sort(), owner)
    const all: StoredRecord[] = []
    for (let after: StoredRecord | undefined; ; after = all.at(-1)) {
      const page = await store.scan('things', { limit: 7, ...(after && { after }) })
      all.push(...page)
      if (page.length === 0) break
    }
    t.equal(all.length, names.length ** 2)
    t.equal(await store.nextDue('things'), START)
    const claimed = await store.claim('things', { now: START, until: START + HOUR_MS, limit: 100 })
    t.equal(claimed.length, names.length ** 2, 'what is due is due for every owner')
    clock.now = START + HOUR_MS
    t.equal(await store.sweep(clock.now, 100), names.length ** 2)
  })

  check('deleting asks for the version only where one is given', async (t, store) => {
    const first = await made(store, draft('a'))
    await store.replace(first, { value: Buffer.from('two') })
    t.equal(await store.delete(first), false)
    t.equal(await store.delete({ namespace: 'things', owner: 'ann', key: 'a' }), true)
  })

  check('no one deletes what is of another owner', async (t, store) => {
    await store.create(draft('a'))
    t.equal(await store.delete({ namespace: 'things', owner: 'bob', key: 'a' }), false)
    t.not(await store.get('things', 'ann', 'a'), undefined)
  })

  check('a record is gone from the moment at which it expires', async (t, store, clock) => {
    const first = await made(store, draft('a', { expires: START + 1000 }))
    clock.now = START + 999
    t.not(await store.get('things', 'ann', 'a'), undefined)
    clock.now = START + 1000
    t.equal(await store.get('things', 'ann', 'a'), undefined)
    t.same(await store.list('things', 'ann', { order: 'ascending', limit: 10 }), [])
    t.equal(await store.replace(first, { value: Buffer.from('x') }), undefined)
    t.equal(await store.delete(first), false)
  })

  check('the key of an expired record is free before it is swept', async (t, store, clock) => {
    await store.create(draft('a', { expires: START + 1000 }))
    clock.now = START + 5000
    t.not(await store.create(draft('a', { created: clock.now })), undefined)
    t.equal(await store.sweep(clock.now, 10), 0)
    t.equal((await store.list('things', 'ann', { order: 'ascending', limit: 10 })).length, 1)
  })

  check('sweeping takes what has expired, up to the given number', async (t, store, clock) => {
    for (let n = 0; n < 5; n++) await store.create(draft(`old${n}`, { expires: START + 1 + n }))
    await store.create(draft('young'))
    clock.now = START + 100
    t.equal(await store.sweep(clock.now, 3), 3)
    t.equal(await store.sweep(clock.now, 3), 2)
    t.equal(await store.sweep(clock.now, 3), 0)
    t.same(keys(await store.list('things', 'ann', { order: 'ascending', limit: 10 })), ['young'])
  })

  check('sweeping leaves what was given more time', async (t, store, clock) => {
    const first = await made(store, draft('a', { expires: START + 1000 }))
    await store.replace(first, { value: first.value, expires: START + HOUR_MS })
    clock.now = START + 2000
    t.equal(await store.sweep(clock.now, 10), 0)
    t.not(await store.get('things', 'ann', 'a'), undefined)
  })

  check('a list has the owner’s records in the order in which they were created', async (t, store) => {
    await store.create(draft('c', { created: START + 1 }))
    await store.create(draft('a', { created: START + 3 }))
    await store.create(draft('b', { created: START + 2 }))
    await store.create(draft('z', { created: START, owner: 'bob' }))
    await store.create(draft('y', { created: START, namespace: 'others' }))
    const list = async (order: 'ascending' | 'descending'): Promise<string[]> =>
      keys(await store.list('things', 'ann', { order, limit: 10 }))
    t.same(await list('ascending'), ['c', 'b', 'a'])
    t.same(await list('descending'), ['a', 'b', 'c'])
  })

  check('pages meet without a gap, also where records were created at once', async (t, store) => {
    const all = Array.from({ length: 23 }, (_, n) => `k${String(n).padStart(2, '0')}`)
    for (const [n, key] of all.entries()) await store.create(draft(key, { created: START + Math.floor(n / 4) }))
    for (const order of ['ascending', 'descending'] as const) {
      const seen: string[] = []
      let after: StoredRecord | undefined
      for (;;) {
        const page = await store.list('things', 'ann', { order, limit: 5, ...(after && { after }) })
        seen.push(...keys(page))
        after = page.at(-1)
        if (after === undefined) break
      }
      t.same(seen, order === 'ascending' ? all : [...all].reverse())
    }
  })

  check('a page continues behind a record that is gone by now', async (t, store) => {
    const records: StoredRecord[] = []
    for (const [n, key] of ['a', 'b', 'c', 'd'].entries()) {
      records.push(await made(store, draft(key, { created: START + n })))
    }
    const [, b] = records
    if (b === undefined) throw new Error('it was made')
    await store.delete(b)
    t.same(keys(await store.list('things', 'ann', { order: 'ascending', after: b, limit: 9 })), ['c', 'd'])
    t.same(keys(await store.list('things', 'ann', { order: 'descending', after: b, limit: 9 })), ['a'])
  })

  check('an owner whose name begins like another one has a list of its own', async (t, store) => {
    await store.create(draft('a', { owner: 'ann' }))
    await store.create(draft('b', { owner: 'anna' }))
    await store.create(draft('c', { owner: 'an' }))
    for (const order of ['ascending', 'descending'] as const) {
      t.same(keys(await store.list('things', 'ann', { order, limit: 10 })), ['a'])
    }
  })

  check('a closed store says so', async (t, store) => {
    await store.close()
    await store.close()
    await t.rejects(store.create(draft('a')), { name: 'StoreError', fault: 'unavailable' })
    await t.rejects(store.get('things', 'ann', 'a'), { name: 'StoreError', fault: 'unavailable' })
    await t.rejects(store.sweep(START, 1), { name: 'StoreError', fault: 'unavailable' })
  })
}

/** Each seventh has expired after an hour. */
function expiryOf(n: number): number {
  return START + (n % 7 === 0 ? HOUR_MS : 2 * HOUR_MS)
}
