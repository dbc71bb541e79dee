import { type Commit, type LeaseChange, type LeaseState, MAX_COMMIT, MAX_ENTRY_BYTES } from '../core/accounts.js'
import type { Store } from '../core/store.js'
import { type Check, HOUR_MS, START } from './store-stage.js'

const ACCOUNT = 'key:ann budget day 2027-01-15'
const DAY = '2027-01-15'
const MINUTE_MS = 60_000
const RACERS = 500

/** What every driver does with accounts that processes share, and with the ledger that explains them. */
export function accountContract(check: Check): void {
  check('an unused account is empty', async (t, store) => {
    t.same(await store.accounts.read([ACCOUNT, 'another', '', '\n'], START), Array(4).fill({ spent: 0, held: 0 }))
    t.same(await store.accounts.days(), [])
    t.same(await store.accounts.entries(DAY, { after: 0, limit: 10 }), [])
    t.same(await store.accounts.commit(commit(1, [])), [])
  })

  check('a lease is taken, spent, and given back', async (t, store) => {
    t.same(await change(store, 1, { hold: 30 }), { spent: 0, held: 30, lease: 30 })
    t.same(await change(store, 2, { spend: 12, hold: 18 }), { spent: 12, held: 18, lease: 18 })
    t.same(await change(store, 3, { spend: 5, hold: 40 }), { spent: 17, held: 40, lease: 40 })
    t.same(await change(store, 4, { hold: 0 }), { spent: 17, held: 0, lease: 0 })
    t.same(await store.accounts.read([ACCOUNT], START), [{ spent: 17, held: 0 }])
  })

  check('leases get what the bound leaves, and never more', async (t, store) => {
    t.same(await change(store, 1, { hold: 70 }), { spent: 0, held: 70, lease: 70 })
    t.same(await change(store, 1, { writer: 'b', hold: 70 }), { spent: 0, held: 100, lease: 30 })
    t.same(await change(store, 1, { writer: 'c', hold: 1 }), { spent: 0, held: 100, lease: 0 })
    t.same(await change(store, 2, { spend: 60, hold: 70 }), { spent: 60, held: 40, lease: 10 })
    t.same(await change(store, 2, { writer: 'b', spend: 30, hold: 30 }), { spent: 90, held: 10, lease: 0 })
  })

  check('what was spent counts, also over the bound and without a lease', async (t, store) => {
    t.same(await change(store, 1, { spend: 130, hold: 5 }), { spent: 130, held: 0, lease: 0 })
    t.same(await change(store, 2, { hold: 5, bound: 200 }), { spent: 130, held: 5, lease: 5 })
    t.same(await change(store, 3, { spend: 9, hold: 0 }), { spent: 139, held: 0, lease: 0 })
  })

  check('a lowered bound takes nothing away, and grants nothing', async (t, store) => {
    await change(store, 1, { hold: 50 })
    t.same(await change(store, 2, { hold: 60, bound: 20 }), { spent: 0, held: 50, lease: 50 })
    t.same(await change(store, 3, { hold: 10, bound: 20 }), { spent: 0, held: 10, lease: 10 })
  })

  check('a commit that is repeated changes nothing, and answers what the leases hold', async (t, store) => {
    const one = commit(1, [lease({ spend: 7, hold: 20 })], ['a'])
    const two = commit(2, [lease({ hold: 15 })], ['b'])
    t.same(await store.accounts.commit(one), [{ spent: 7, held: 20, lease: 20 }])
    t.same(await store.accounts.commit(two), [{ spent: 7, held: 15, lease: 15 }])
    for (const repeated of [one, two, one]) {
      t.same(await store.accounts.commit(repeated), [{ spent: 7, held: 15, lease: 15 }])
    }
    const unknown = lease({ account: 'never used', hold: 3 })
    t.same(await store.accounts.commit(commit(2, [unknown])), [{ spent: 0, held: 0, lease: 0 }])
    t.same(await store.accounts.read([ACCOUNT, 'never used'], START), [
      { spent: 7, held: 15 },
      { spent: 0, held: 0 },
    ])
    t.same(await texts(store), ['a', 'b'])
  })

  check('of one commit that is sent many times at once, one counts', async (t, store, _, again) => {
    const other = await again()
    const one = commit(1, [lease({ spend: 3, hold: 10 })], ['once'])
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? store : other).accounts.commit(one)),
    )
    for (const answer of answers) t.same(answer, [{ spent: 3, held: 10, lease: 10 }])
    t.same(await texts(store), ['once'])
  })

  check('several leases change in one commit, also of one account', async (t, store) => {
    const changes = [
      lease({ account: 'z', hold: 60 }),
      lease({ account: 'a', hold: 5, bound: 3 }),
      lease({ account: 'z', lease: 'task/1', hold: 60 }),
      lease({ account: 'z', spend: 10, hold: 50 }),
    ]
    t.same(await store.accounts.commit(commit(1, changes)), [
      { spent: 0, held: 60, lease: 60 },
      { spent: 0, held: 3, lease: 3 },
      { spent: 0, held: 100, lease: 40 },
      { spent: 10, held: 90, lease: 50 },
    ])
    t.same(await store.accounts.read(['a', 'z'], START), [
      { spent: 0, held: 3 },
      { spent: 10, held: 90 },
    ])
  })

  check('what a lease holds is free again when it ends, and not before', async (t, store) => {
    await change(store, 1, { hold: 100, until: START + MINUTE_MS })
    await change(store, 1, { account: 'another', hold: 9, until: START + MINUTE_MS })
    t.same(await change(store, 1, { writer: 'b', hold: 40 }, START + MINUTE_MS - 1), { spent: 0, held: 100, lease: 0 })
    t.same(await store.accounts.read([ACCOUNT], START + MINUTE_MS - 1), [{ spent: 0, held: 100 }])
    t.same(await store.accounts.read([ACCOUNT], START + MINUTE_MS), [{ spent: 0, held: 0 }])
    t.same(await change(store, 2, { writer: 'b', hold: 40 }, START + MINUTE_MS), { spent: 0, held: 40, lease: 40 })
    const late = await change(store, 2, { spend: 100, hold: 100 }, START + MINUTE_MS)
    t.same(late, { spent: 100, held: 40, lease: 0 }, 'late spend counts, and takes from no other lease')
  })

  check('a lease that is renewed lasts longer', async (t, store) => {
    await change(store, 1, { hold: 10, until: START + MINUTE_MS })
    await change(store, 2, { hold: 10, until: START + 2 * MINUTE_MS })
    t.same(await store.accounts.read([ACCOUNT], START + MINUTE_MS), [{ spent: 0, held: 10 }])
    t.same(await change(store, 3, { hold: 10, until: START + HOUR_MS }, START + 2 * MINUTE_MS), {
      spent: 0,
      held: 10,
      lease: 10,
    })
    t.same(await store.accounts.read([ACCOUNT], START + HOUR_MS), [{ spent: 0, held: 0 }])
  })

  check('an account is forgotten at its end with all its leases, and the latest end holds', async (t, store) => {
    await change(store, 1, { spend: 40, hold: 60, expires: START + HOUR_MS, until: START + 3 * HOUR_MS })
    await change(store, 1, { writer: 'b', spend: 1, hold: 0, expires: START + 2 * HOUR_MS })
    await change(store, 2, { writer: 'b', spend: 1, hold: 0, expires: START })
    t.same(await store.accounts.read([ACCOUNT], START + 2 * HOUR_MS - 1), [{ spent: 42, held: 60 }])
    t.same(await store.accounts.read([ACCOUNT], START + 2 * HOUR_MS), [{ spent: 0, held: 0 }])
    const next = { spend: 1, hold: 100, expires: START + 9 * HOUR_MS, until: START + 9 * HOUR_MS }
    t.same(await change(store, 2, next, START + 2 * HOUR_MS), { spent: 1, held: 99, lease: 99 })
  })

  check('what never ends is kept', async (t, store) => {
    const never = { expires: 8.65e15, until: 8.64e15 }
    t.same(await change(store, 1, { spend: 3, hold: 50, ...never }), { spent: 3, held: 50, lease: 50 })
    await store.sweep(START + 1000 * 24 * HOUR_MS, 10)
    t.same(await store.accounts.read([ACCOUNT], START + 1000 * 24 * HOUR_MS), [{ spent: 3, held: 50 }])
    t.same(await change(store, 2, { spend: 1, hold: 0, ...never }), { spent: 4, held: 0, lease: 0 })
  })

  check('clocks of processes may differ', async (t, store) => {
    await change(store, 1, { hold: 60, until: START + MINUTE_MS })
    const ahead = START + MINUTE_MS / 2
    const held = await change(store, 1, { writer: 'ahead', hold: 100, until: ahead + MINUTE_MS }, ahead)
    t.same(held, { spent: 0, held: 100, lease: 40 }, 'half a minute ahead, the lease has not ended')
    const settled = await change(store, 2, { spend: 60, hold: 60, until: START + MINUTE_MS })
    t.same(settled, { spent: 60, held: 40, lease: 0 }, 'half a minute behind, all of it is there')
    await change(store, 2, { writer: 'ahead', hold: 40, until: START + 3 * HOUR_MS }, START + HOUR_MS)
    t.same(await change(store, 3, { spend: 5, hold: 0 }), { spent: 65, held: 40, lease: 0 }, 'after a jump')
  })

  check('entries of a day are numbered from 1 without a gap, in their order', async (t, store) => {
    await store.accounts.commit(commit(1, [], ['a', 'b', 'c']))
    await store.accounts.commit(commit(2, [], ['z'], '2027-01-14'))
    const mixed = [entry('d'), entry('y', '2027-01-14'), entry('e')]
    await store.accounts.commit({ ...commit(3, []), entries: mixed })
    t.same(await texts(store), ['a', 'b', 'c', 'd', 'e'])
    t.same(await texts(store, '2027-01-14'), ['z', 'y'])
    t.same(await store.accounts.days(), ['2027-01-14', DAY])
    for (const [after, limit, wanted] of [
      [0, 2, [1, 2]],
      [2, 2, [3, 4]],
      [4, 9, [5]],
      [5, 9, []],
    ] as const) {
      const page = await store.accounts.entries(DAY, { after, limit })
      t.same(
        page.map(({ sequence }) => sequence),
        wanted,
      )
    }
  })

  check('an entry comes back byte by byte', async (t, store) => {
    const values = [Buffer.alloc(0), Buffer.from([0, 1, 255, 10, 13, 34, 92]), Buffer.alloc(MAX_ENTRY_BYTES, 7)]
    await store.accounts.commit({ ...commit(1, []), entries: values.map(value => ({ day: DAY, value })) })
    const found = await store.accounts.entries(DAY, { after: 0, limit: 10 })
    t.same(
      found.map(({ value }) => [...value]),
      values.map(value => [...value]),
    )
  })

  check('writers at once leave no gap, and their own entries stay together', async (t, store, _, again) => {
    const other = await again()
    const commits = Array.from({ length: 20 }, (_, n) => {
      const changes = [lease({ account: `a${n % 3}`, spend: 1 }), lease({ account: `a${(n + 1) % 3}`, spend: 1 })]
      return { ...commit(1, changes, [`${n}.1`, `${n}.2`]), writer: `w${n}` }
    })
    await Promise.all(commits.map((one, n) => (n % 2 ? store : other).accounts.commit(one)))
    const found = await texts(store)
    t.equal(found.length, 40)
    for (let n = 0; n < found.length; n += 2) t.equal(found[n + 1], found[n]?.replace('.1', '.2'))
    const tallies = await store.accounts.read(['a0', 'a1', 'a2'], START)
    t.equal(
      tallies.reduce((sum, { spent }) => sum + spent, 0),
      40,
    )
  })

  check('a day is dropped with all its entries, and begins at 1 again', async (t, store) => {
    await store.accounts.commit(commit(1, [lease({ spend: 2 })], ['a', 'b']))
    await store.accounts.commit(commit(2, [], ['c'], '2027-01-16'))
    await store.accounts.dropDay(DAY)
    await store.accounts.dropDay('2001-01-01')
    await store.accounts.dropDay("x'; DROP")
    t.same(await store.accounts.days(), ['2027-01-16'])
    t.same(await texts(store), [])
    t.same(await texts(store, '2027-01-16'), ['c'])
    t.same(await store.accounts.read([ACCOUNT], START), [{ spent: 2, held: 0 }], 'accounts stay')
    await store.accounts.commit(commit(3, [], ['late']))
    t.same(await texts(store), ['late'])
    t.same(await store.accounts.days(), [DAY, '2027-01-16'])
  })

  check('a large day is read and dropped', async (t, store) => {
    const values = Array.from({ length: MAX_COMMIT.entries }, (_, n) => `${n}`)
    for (let number = 1; number <= 6; number++) await store.accounts.commit(commit(number, [], values))
    const [last] = await store.accounts.entries(DAY, { after: 6 * MAX_COMMIT.entries - 1, limit: 5 })
    t.equal(last?.sequence, 6 * MAX_COMMIT.entries)
    await store.accounts.dropDay(DAY)
    t.same(await store.accounts.days(), [])
    t.same(await texts(store), [])
  })

  check('a commit as large as it may be is one', async (t, store) => {
    const changes = Array.from({ length: MAX_COMMIT.leases }, (_, n) => lease({ account: `a ${n}`, spend: n, hold: 1 }))
    const answers = await store.accounts.commit(commit(1, changes))
    t.equal(answers.length, changes.length)
    t.same(answers[77], { spent: 77, held: 1, lease: 1 })
    t.same(await store.accounts.read(['a 99', 'a 999'], START), [
      { spent: 99, held: 1 },
      { spent: 999, held: 0 },
    ])
  })

  check('names are any printable ASCII, amounts any whole number', async (t, store) => {
    const amount = 2 ** 52 + 1
    for (const [n, account] of ['~', '!', ' ', 'a b', 'a~', 'A:/{}%', 'x'.repeat(512)].entries()) {
      const changes = [
        lease({ account, lease: '~', spend: amount, hold: 2, bound: Number.MAX_SAFE_INTEGER }),
        lease({ account, lease: '!', hold: 3, bound: Number.MAX_SAFE_INTEGER, until: START + MINUTE_MS }),
        lease({ account, lease: 'y'.repeat(128), hold: 5, bound: Number.MAX_SAFE_INTEGER }),
      ]
      const [, , last] = await store.accounts.commit({ ...commit(1, changes), writer: `~${n}` })
      t.same(last, { spent: amount, held: 10, lease: 5 }, account)
      t.same(await store.accounts.read([account], START + MINUTE_MS), [{ spent: amount, held: 7 }], account)
    }
  })

  check('a commit that no store could take is refused, and nothing of it happens', async (t, store) => {
    const good = commit(1, [lease({ spend: 1, hold: 1 })], ['a'])
    const many = <T>(count: number, one: T): T[] => Array(count + 1).fill(one)
    const bad: readonly Commit[] = [
      { ...good, writer: '' },
      { ...good, writer: 'a b' },
      { ...good, writer: 'x'.repeat(129) },
      { ...good, number: 0 },
      { ...good, number: 1.5 },
      { ...good, now: Number.NaN },
      { ...good, remembered: Infinity },
      ...['', 'é', 'a\n', 'x'.repeat(513)].map(account => ({ ...good, leases: [...good.leases, lease({ account })] })),
      ...['', 'a b', 'x'.repeat(129)].map(name => ({ ...good, leases: [...good.leases, lease({ lease: name })] })),
      ...[-1, 0.5, Number.NaN, Infinity, 2 ** 53].flatMap(amount =>
        (['spend', 'hold', 'bound', 'until', 'expires'] as const).map(name => ({
          ...good,
          leases: [...good.leases, lease({ [name]: amount })],
        })),
      ),
      ...['', '2027-1-1', '2027-01-15T00', 'today'].map(day => ({ ...good, entries: [entry('a'), entry('b', day)] })),
      { ...good, entries: [{ day: DAY, value: Buffer.alloc(MAX_ENTRY_BYTES + 1) }] },
      { ...good, entries: many(MAX_COMMIT.entries, entry('a')) },
      { ...good, leases: many(MAX_COMMIT.leases, lease({ spend: 1 })) },
    ]
    for (const one of bad) await t.rejects(store.accounts.commit(one), { name: 'StoreError' })
    t.same(await store.accounts.read([ACCOUNT], START), [{ spent: 0, held: 0 }])
    t.same(await store.accounts.days(), [])
    t.same(await store.accounts.commit(good), [{ spent: 1, held: 1, lease: 1 }])
  })

  check('sweeping removes what has ended, and leaves the rest as it is', async (t, store) => {
    await change(store, 1, { spend: 5, hold: 50, until: START + MINUTE_MS })
    await change(store, 1, { account: 'old', writer: 'b', spend: 5, hold: 50, expires: START + MINUTE_MS })
    await change(store, 1, { account: 'held', writer: 'c', hold: 50 })
    for (let n = 0; n < 10; n++) await store.sweep(START + MINUTE_MS, 2)
    t.same(await store.accounts.read([ACCOUNT, 'old', 'held'], START + MINUTE_MS), [
      { spent: 5, held: 0 },
      { spent: 0, held: 0 },
      { spent: 0, held: 50 },
    ])
    const now = START + MINUTE_MS
    t.same(await change(store, 2, { account: 'old', writer: 'b', hold: 7 }, now), { spent: 0, held: 7, lease: 7 })
    const repeated = await change(store, 1, { spend: 5, hold: 50 }, now)
    t.same(repeated, { spent: 5, held: 0, lease: 0 }, 'numbers are remembered')
    const end = START + 30 * 24 * HOUR_MS
    for (let n = 0; n < 10; n++) await store.sweep(end, 100)
    t.equal(await store.sweep(end, 100), 0, 'nothing is left')
    t.same(await store.accounts.read([ACCOUNT, 'old', 'held'], end), Array(3).fill({ spent: 0, held: 0 }))
  })

  check(
    `F-A7 of ${RACERS} takes over two clients at once, the bound is met and never passed`,
    async (t, store, _, again) => {
      const other = await again()
      const bound = 10
      const take = (n: number): Promise<LeaseState> =>
        change(n % 2 ? store : other, 1, { writer: `w${n}`, hold: 1, bound })
      const taken = await Promise.all(Array.from({ length: RACERS }, (_, n) => take(n)))
      const winners = taken.flatMap((state, n) => (state.lease === 1 ? [`w${n}`] : []))
      const most = Math.max(...taken.map(({ spent, held }) => spent + held))
      t.comment(`${RACERS} takes, ${winners.length} granted, overshoot ${Math.max(0, most - bound)}`)
      t.same([winners.length, most], [bound, bound])
      await Promise.all(
        winners.map((writer, n) => change(n % 2 ? store : other, 2, { writer, spend: 1, hold: 0, bound })),
      )
      t.same(await store.accounts.read([ACCOUNT], START), [{ spent: bound, held: 0 }])
    },
  )

  check('a closed store keeps no accounts', async (t, store) => {
    await store.close()
    const calls: readonly Promise<unknown>[] = [
      store.accounts.commit(commit(1, [])),
      store.accounts.read([ACCOUNT], START),
      store.accounts.entries(DAY, { after: 0, limit: 1 }),
      store.accounts.days(),
      store.accounts.dropDay(DAY),
    ]
    for (const call of calls) {
      t.match(await call.catch((error: unknown) => error), { name: 'StoreError', fault: 'unavailable' })
    }
  })
}

function lease(parts: Partial<LeaseChange>): LeaseChange {
  const [expires, until] = [START + 24 * HOUR_MS, START + 2 * HOUR_MS]
  return { account: ACCOUNT, expires, bound: 100, lease: 'a', spend: 0, hold: 0, until, ...parts }
}

function entry(text: string, day = DAY): Commit['entries'][number] {
  return { day, value: Buffer.from(text) }
}

function commit(number: number, leases: readonly LeaseChange[], values: readonly string[] = [], day = DAY): Commit {
  const entries = values.map(text => entry(text, day))
  return { writer: 'a', number, remembered: START + 24 * HOUR_MS, now: START, leases, entries }
}

/** A commit of one lease, which has the name of its writer. */
async function change(
  store: Store,
  number: number,
  { writer = 'a', ...parts }: Partial<LeaseChange> & { readonly writer?: string },
  now = START,
): Promise<LeaseState> {
  const [state] = await store.accounts.commit({
    ...commit(number, [lease({ lease: writer, ...parts })]),
    writer,
    now,
  })
  if (state === undefined) throw new Error('a lease without an answer')
  return state
}

/** The entries of a day; their numbers must be 1, 2, 3, … */
async function texts(store: Store, day = DAY): Promise<readonly string[]> {
  const entries = await store.accounts.entries(day, { after: 0, limit: 10_000 })
  for (const [n, { sequence }] of entries.entries()) if (sequence !== n + 1) throw new Error(`${sequence} after ${n}`)
  return entries.map(({ value }) => Buffer.from(value).toString())
}
