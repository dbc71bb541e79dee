import { openStore } from '../../src/runtime/stores.js'

// A process that claims a record, says so, and writes it whenever it is told a line; it says what came of that.
// Argument: the store's configuration as JSON.

const store = await openStore(JSON.parse(process.argv[2] ?? ''))
const now = Date.now()
const [held] = await store.claim('tasks', { now, until: now + 200, limit: 1 })
if (held === undefined) throw new Error('there is nothing to claim')
process.stdout.write(`claimed ${held.fence}\n`)
process.stdin.once('data', async () => {
  const done = await store.replace(held, { value: Buffer.from('of the stopped one'), due: null })
  const found = await store.get(held.namespace, held.owner, held.key)
  process.stdout.write(`${done === undefined ? 'lost' : 'kept'} ${found?.fence}\n`)
  await store.close()
  process.stdin.destroy()
})
