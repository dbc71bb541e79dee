import { FileStore } from '../../src/stores/file.js'
import { LIFE_MS, spendingOf } from './spending.js'

// A process that takes leases and spends them until it is killed, and says on its standard output which commit is done.
// Arguments: the folder, the name of the writer.

const [folder = '', writer = ''] = process.argv.slice(2)
const store = new FileStore(folder)

for (let number = 1; ; number++) {
  const now = Date.now()
  await store.accounts.commit({ ...spendingOf(writer, number), remembered: now + LIFE_MS, now })
  process.stdout.write(`${number}\n`)
}
