import { FileStore } from '../../src/stores/file.js'
import { ACCOUNTS, LIFE_MS, spendingOf } from './spending.js'

// A process that takes leases and spends them until it is killed, and says on its standard output which commit is done.
// Arguments: the folder, the name of the writer, and a bound: where one is given, the process ends when it is reached.

const [folder = '', writer = '', bound] = process.argv.slice(2)
const store = new FileStore(folder)

async function spend(): Promise<void> {
  for (let number = 1; ; number++) {
    const now = Date.now()
    await store.accounts.commit({ ...spendingOf(writer, number), remembered: now + LIFE_MS, now })
    process.stdout.write(`${number}\n`)
  }
}

/** Takes three at a time, or what is left, and spends all of it. */
async function race(bound: number): Promise<void> {
  let lease = 3
  for (let number = 1, held = 0; lease > 0; number++, held = lease) {
    const now = Date.now()
    const until = now + LIFE_MS
    const change = { account: ACCOUNTS[0], lease: writer, bound, expires: until + LIFE_MS, until }
    const commit = { writer, number, remembered: until, now, entries: [] }
    const [state] = await store.accounts.commit({ ...commit, leases: [{ ...change, spend: held, hold: 3 }] })
    lease = state?.lease ?? 0
    process.stdout.write(`${number}\n`)
  }
  await store.close()
}

await (bound === undefined ? spend() : race(Number(bound)))
