import t from 'tap'
import { ALONE, type Peers } from '../../../src/core/peers.js'
import { Estate, giveBack, HELD } from '../../../src/features/limits/estate.js'
import { openStore } from '../../../src/runtime/stores.js'
import { EVERY } from '../../helpers/store-kinds.js'

for (const kind of EVERY) {
  t.test(
    `F-P4 what a dead process held is given back, and nothing else: ${kind.type}`,
    { skip: kind.skip },
    async t => {
      const store = await openStore(await kind.make(t))
      t.teardown(() => store.close())
      const now = Date.now()
      const take = (writer: string, account: string, spend: number, hold: number): Promise<unknown> => {
        const lease = { account, lease: writer, expires: now + 600_000, bound: 100, spend, hold, until: now + 60_000 }
        const commit = { writer: `${writer}-${account.length}-${spend}`, number: 1, remembered: now + 60_000, now }
        return store.accounts.commit({ ...commit, leases: [lease], entries: [] })
      }
      await take('dead', 'key:a in_flight', 0, 40)
      await take('dead', 'key:a budget total', 7, 30)
      await take('alive', 'key:a budget total', 5, 20)
      await take('dead', 'key:unreported budget total', 1, 2)
      const names = ['key:a in_flight', 'key:a budget total', 'key:never seen']
      await giveBack(store.accounts, 'dead', names, { writer: 'supervisor', number: 1, now })
      t.same(await store.accounts.read([...names, 'key:unreported budget total'], now), [
        { spent: 0, held: 0 },
        { spent: 12, held: 20 },
        { spent: 0, held: 0 },
        { spent: 1, held: 2 },
      ])
    },
  )
}

t.test('a process reports the accounts that it comes to know in one message a turn, and its end', async t => {
  const said: unknown[] = []
  const peers: Peers = {
    ...ALONE,
    number: 1,
    report(topic, content) {
      if (topic.name === HELD.name) said.push(content)
      return true
    },
  }
  const estate = new Estate(peers, 'me')
  estate.add('one')
  estate.add('two')
  estate.remove('one')
  t.same(said, [], 'not at once')
  await Promise.resolve()
  t.same(said, [{ lease: 'me', added: ['one', 'two'], removed: ['one'] }])
  estate.close()
  t.match(said[1], { lease: 'me', isOver: true })
})
