import type { Check } from './store-stage.js'

/** What every driver does with accounts of what happened. */
export function ledgerContract(check: Check): void {
  check('entries stand in the order in which they came, numbered without a gap', async (t, store) => {
    t.same(await store.ledger.entries('spend', { limit: 10 }), [])
    for (const [n, owner] of ['ann', 'bob', 'ann'].entries()) {
      t.equal(await store.ledger.append('spend', owner, Buffer.from([n, 255])), n + 1)
    }
    t.equal(await store.ledger.append('others', 'ann', Buffer.alloc(0)), 1)
    const entries = await store.ledger.entries('spend', { limit: 10 })
    t.same(
      entries.map(({ sequence, owner, value }) => [sequence, owner, ...value]),
      [
        [1, 'ann', 0, 255],
        [2, 'bob', 1, 255],
        [3, 'ann', 2, 255],
      ],
    )
    t.equal((await store.ledger.entries('others', { limit: 10 }))[0]?.value.length, 0)
  })

  check('entries are read page by page', async (t, store) => {
    for (let n = 0; n < 12; n++) await store.ledger.append('spend', 'ann', Buffer.from(`${n}`))
    const seen: number[] = []
    for (;;) {
      const page = await store.ledger.entries('spend', { after: seen.at(-1) ?? 0, limit: 5 })
      if (page.length === 0) break
      seen.push(...page.map(({ sequence }) => sequence))
    }
    t.same(
      seen,
      Array.from({ length: 12 }, (_, n) => n + 1),
    )
  })

  check('many who write at once get a number each', async (t, store) => {
    const numbers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => store.ledger.append('spend', `o${n}`, Buffer.from(`${n}`))),
    )
    t.same(
      [...numbers].sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, n) => n + 1),
    )
    const entries = await store.ledger.entries('spend', { limit: 100 })
    for (const [n, sequence] of numbers.entries()) t.equal(entries[sequence - 1]?.owner, `o${n}`)
  })

  check('an entry that nobody could find is refused', async (t, store) => {
    await t.rejects(store.ledger.append('spend', 'a b', Buffer.alloc(1)), { name: 'StoreError' })
    await t.rejects(store.ledger.append('Spend', 'ann', Buffer.alloc(1)), { name: 'StoreError' })
  })
}
