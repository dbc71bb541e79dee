import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openStore } from '../../src/runtime/stores.js'
import { DURABLE } from '../helpers/store-kinds.js'

const HOLDER = fileURLToPath(new URL('../stores/holder.js', import.meta.url))

for (const { type, skip, make } of DURABLE) {
  t.test(`F-T5 a holder that was stopped past its lease changes nothing afterwards (${type})`, { skip }, async t => {
    const config = await make(t)
    const store = await openStore(config)
    t.teardown(() => store.close())
    const now = Date.now()
    const draft = { namespace: 'tasks', owner: 'ann', key: 'a', created: now, expires: now + 3_600_000, due: now }
    await store.create({ ...draft, value: Buffer.from('new') })

    const holder = spawn(process.execPath, [HOLDER, JSON.stringify(config)], { stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => void holder.kill('SIGKILL'))
    const said = createInterface({ input: holder.stdout })[Symbol.asyncIterator]()
    t.equal((await said.next()).value, 'claimed 1')
    holder.kill('SIGSTOP')

    const until = (await store.nextDue('tasks')) ?? 0
    t.same(await store.claim('tasks', { now: until - 1, until: until + 60_000, limit: 1 }), [], 'it is still held')
    const [mine] = await store.claim('tasks', { now: until, until: until + 60_000, limit: 1 })
    t.equal(mine?.fence, 2)
    if (mine !== undefined) t.ok(await store.replace(mine, { value: Buffer.from('of the new holder') }))

    holder.kill('SIGCONT')
    holder.stdin.write('go on\n')
    t.equal((await said.next()).value, 'lost 2')
    const found = await store.get('tasks', 'ann', 'a')
    t.equal(Buffer.from(found?.value ?? '').toString(), 'of the new holder')
    t.equal(found?.due, until + 60_000)
  })
}
