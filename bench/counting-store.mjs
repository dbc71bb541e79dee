// A store that several gateways might share, for all they know: in memory, and counting the calls of its accounts. The
// count goes into the file that `count` of its options names, each time that it has changed.
import { writeFileSync } from 'node:fs'
import { MemoryStore } from '../dist/stores/memory.js'

export async function openStore({ count }) {
  const store = new MemoryStore()
  const { accounts } = store
  const commit = accounts.commit.bind(accounts)
  let calls = 0
  accounts.commit = asked => {
    writeFileSync(count, String(++calls))
    return commit(asked)
  }
  return store
}
