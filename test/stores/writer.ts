import { FileStore } from '../../src/stores/file.js'
import { wholeValue } from './values.js'

// A process that writes into a store until it is killed, and says on its standard output what is committed.
// Arguments: the folder, `create`, `count`, `open` or `blob`, and a name for its keys.

const [folder = '', what = '', name = ''] = process.argv.slice(2)
let store = new FileStore(folder)
const expires = Date.now() + 3_600_000

async function create(): Promise<void> {
  for (let n = 0; ; n++) {
    const key = `${name}-${n}`
    await store.create({ namespace: 'things', owner: 'ann', key, created: Date.now(), expires, value: wholeValue(key) })
    process.stdout.write(`${key}\n`)
  }
}

/** Counts a shared record up by compare-and-set, 200 times. */
async function count(): Promise<void> {
  for (let done = 0; done < 200; ) {
    const current = await store.get('things', 'ann', 'shared')
    if (current === undefined) throw new Error('the shared record is gone')
    const next = String(Number(Buffer.from(current.value).toString()) + 1)
    if ((await store.replace(current, { value: Buffer.from(next) })) !== undefined) done++
  }
  await store.close()
}

/** Opens the store anew, 100 times. */
async function open(): Promise<void> {
  for (let done = 0; done < 100; done++) {
    await store.close()
    store = new FileStore(folder)
  }
  await store.close()
}

/** Puts a blob that never ends, and says when its first piece is on the way. */
async function blob(): Promise<void> {
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(300_000, 'b')
    process.stdout.write('begun\n')
    await new Promise(resolve => setTimeout(resolve, 600_000))
  }
  await store.blobs.put({ namespace: 'films', owner: 'ann', key: name }, source(), { expires, limit: 1e9 })
}

const works: Record<string, () => Promise<void>> = { create, count, open, blob }
await works[what]?.()
