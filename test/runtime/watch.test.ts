import fs, {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type SourceWatch, type WatchOptions, watchSources } from '../../src/runtime/watch.js'

const NEVER = 3_600_000

/** Collects calls of `onChange`; a condition is looked at again after each of them. */
class Changes {
  count = 0
  #waiting: (() => void)[] = []

  readonly seen = (): void => {
    this.count++
    for (const wake of this.#waiting.splice(0)) wake()
  }

  next(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.next()
  }
}

interface Started {
  readonly watch: SourceWatch
  readonly changes: Changes
}

/** Starts a watch and waits for the one report that everything new gets. */
async function start(t: Test, options: Partial<WatchOptions>): Promise<Started> {
  const changes = new Changes()
  const first = changes.next()
  const watch = watchSources({ sources: [], folders: [], onChange: changes.seen, quiet: 5, poll: NEVER, ...options })
  t.teardown(() => watch.close())
  await watch.ready
  if (options.onChange === undefined) await first
  return { watch, changes }
}

function content(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** What Kubernetes makes of a ConfigMap: the file is a link into `..data`, and that a link to a dated folder. */
function mountRevision(folder: string, revision: string, text: string): void {
  mkdirSync(join(folder, revision))
  writeFileSync(join(folder, revision, 'gateway.yaml'), text)
  symlinkSync(revision, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
}

const WRITES: Readonly<Record<string, (file: string) => void>> = {
  'renaming another file over it': file => {
    writeFileSync(`${file}.tmp`, 'new')
    renameSync(`${file}.tmp`, file)
  },
  'truncating and writing it in place': file => {
    truncateSync(file)
    appendFileSync(file, 'ne')
    appendFileSync(file, 'w')
  },
  'deleting and making it again': file => {
    unlinkSync(file)
    writeFileSync(file, 'new')
  },
  'moving it to a backup and writing a new one': file => {
    renameSync(file, `${file}~`)
    writeFileSync(file, 'new')
  },
  'replacing it by a link to another folder': file => {
    mkdirSync(join(dirname(file), 'other'))
    writeFileSync(join(dirname(file), 'other', 'new.yaml'), 'new')
    unlinkSync(file)
    symlinkSync('other/new.yaml', file)
  },
  'replacing its whole folder': file => {
    mkdirSync(`${dirname(file)}.new`)
    writeFileSync(join(`${dirname(file)}.new`, 'gateway.yaml'), 'new')
    renameSync(dirname(file), `${dirname(file)}.old`)
    renameSync(`${dirname(file)}.new`, dirname(file))
  },
  'deleting its whole folder and making it again': file => {
    rmSync(dirname(file), { recursive: true })
    mkdirSync(dirname(file))
    writeFileSync(file, 'new')
  },
}

for (const [style, write] of Object.entries(WRITES)) {
  t.test(`F-R3 sees a file changed by ${style}, and the change after that`, async t => {
    const folder = join(t.testdir({ conf: { 'gateway.yaml': 'old' } }), 'conf')
    const file = join(folder, 'gateway.yaml')
    const { changes } = await start(t, { sources: [file] })
    const seen = changes.until(() => content(file) === 'new')
    write(file)
    await seen
    const again = changes.until(() => content(file) === 'newer')
    writeFileSync(file, 'newer')
    await again
    t.equal(content(file), 'newer')
  })
}

t.test('F-R3 sees a symbolic link swapped, as Kubernetes does it, again and again', async t => {
  const folder = t.testdir({})
  mountRevision(folder, '..2024_01', 'one')
  const file = join(folder, 'gateway.yaml')
  symlinkSync('..data/gateway.yaml', file)
  const { changes } = await start(t, { sources: [file] })
  for (const text of ['two', 'three', 'four']) {
    const seen = changes.until(() => content(file) === text)
    mountRevision(folder, `..${text}`, text)
    await seen
  }
  t.equal(content(file), 'four')
})

t.test('F-R3 sees a link of a parent folder swapped, as releases are switched', async t => {
  const folder = t.testdir({ one: { 'gateway.yaml': 'one' }, two: { 'gateway.yaml': 'two' } })
  const current = join(folder, 'current')
  symlinkSync('one', current)
  const file = join(current, 'gateway.yaml')
  const { changes } = await start(t, { sources: [file] })
  const swapped = changes.until(() => content(file) === 'two')
  symlinkSync('two', `${current}.tmp`)
  renameSync(`${current}.tmp`, current)
  await swapped
  const edited = changes.until(() => content(file) === 'edited')
  writeFileSync(join(folder, 'two', 'gateway.yaml'), 'edited')
  await edited
  t.equal(content(file), 'edited')
})

t.test('F-R3 sees permissions change', async t => {
  const file = join(t.testdir({ 'gateway.yaml': 'text' }), 'gateway.yaml')
  const { changes } = await start(t, { sources: [file] })
  const taken = changes.next()
  chmodSync(file, 0)
  await taken
  const given = changes.next()
  chmodSync(file, 0o644)
  await given
  t.ok(changes.count >= 3)
})

t.test('F-R3 sees a file deleted and, much later, there again', async t => {
  const file = join(t.testdir({ 'gateway.yaml': 'text' }), 'gateway.yaml')
  const { changes } = await start(t, { sources: [file] })
  const gone = changes.next()
  unlinkSync(file)
  await gone
  const back = changes.until(() => content(file) === 'back')
  writeFileSync(file, 'back')
  await back
  t.equal(content(file), 'back')
})

t.test('waits for a secret file in a folder that does not exist yet', async t => {
  const folder = t.testdir({})
  const file = join(folder, 'run', 'secrets', 'north')
  const { changes } = await start(t, { sources: [file] })
  const seen = changes.until(() => content(file) === 'secret')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, 'secret')
  await seen
  t.equal(content(file), 'secret')
})

t.test('sees a new file in an include folder', async t => {
  const folder = t.testdir({ routes: {} })
  const { changes } = await start(t, { folders: [join(folder, 'routes')] })
  const seen = changes.next()
  writeFileSync(join(folder, 'routes', 'more.yaml'), 'routes: {}')
  await seen
  t.equal(changes.count, 2)
})

t.test('sees an include folder that is made later, and files in it', async t => {
  const folder = join(t.testdir({}), 'conf', 'routes')
  const { changes } = await start(t, { folders: [folder] })
  const made = changes.next()
  mkdirSync(folder, { recursive: true })
  await made
  const filled = changes.until(() => content(join(folder, 'more.yaml')) !== '')
  writeFileSync(join(folder, 'more.yaml'), 'routes: {}')
  await filled
  t.ok(changes.count >= 3)
})

t.test('does not care for neighbours of the files that it watches', async t => {
  const folder = t.testdir({ 'gateway.yaml': 'old', 'requests.log': '' })
  const file = join(folder, 'gateway.yaml')
  const { changes } = await start(t, { sources: [file] })
  appendFileSync(join(folder, 'requests.log'), 'a line')
  writeFileSync(join(folder, 'other.yaml'), 'new')
  const seen = changes.next()
  writeFileSync(file, 'new')
  await seen
  t.equal(changes.count, 2)
})

t.test(
  'reports everything that becomes watched once, so that no edit is lost between reading and watching',
  async t => {
    const folder = t.testdir({ 'gateway.yaml': 'text', 'more.yaml': 'text' })
    const { watch, changes } = await start(t, { sources: [join(folder, 'gateway.yaml')] })
    t.equal(changes.count, 1)
    const told = changes.next()
    await watch.update([join(folder, 'gateway.yaml'), join(folder, 'more.yaml')], [])
    await told
    t.equal(changes.count, 2)
  },
)

t.test('watches other files after an update, and no longer the old ones', async t => {
  const folder = t.testdir({ a: { 'a.yaml': '' }, b: { 'b.yaml': '' } })
  const [a, b] = [join(folder, 'a', 'a.yaml'), join(folder, 'b', 'b.yaml')]
  const { watch, changes } = await start(t, { sources: [a] })
  const updated = changes.next()
  await watch.update([b], [])
  await updated
  writeFileSync(a, 'new')
  const seen = changes.next()
  writeFileSync(b, 'new')
  await seen
  t.equal(changes.count, 3)
})

t.test('the slow poll sees a replaced parent folder, which has no event', async t => {
  const folder = t.testdir({ app: { conf: { 'gateway.yaml': 'old' } }, next: { conf: { 'gateway.yaml': 'new' } } })
  const file = join(folder, 'app', 'conf', 'gateway.yaml')
  const { changes } = await start(t, { sources: [file], poll: 20 })
  const seen = changes.until(() => content(file) === 'new')
  renameSync(join(folder, 'app'), join(folder, 'before'))
  renameSync(join(folder, 'next'), join(folder, 'app'))
  await seen
  const edited = changes.until(() => content(file) === 'edited')
  writeFileSync(file, 'edited')
  await edited
  t.equal(content(file), 'edited')
})

/** As the kernel does when a user's inotify watches are used up. */
function refuseWatches(t: Test): () => void {
  const real = fs.watch
  const restore = (): void => {
    fs.watch = real
    syncBuiltinESMExports()
  }
  fs.watch = () => {
    throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), { code: 'ENOSPC' })
  }
  syncBuiltinESMExports()
  t.teardown(restore)
  return restore
}

t.test('a watch that cannot be set up is reported once, and set up again later', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  const allow = refuseWatches(t)
  const errors: string[] = []
  const { changes } = await start(t, { sources: [file], onError: error => errors.push(error.message) })
  allow()
  await changes.next()
  const seen = changes.until(() => content(file) === 'new')
  writeFileSync(file, 'new')
  await seen
  t.match(errors, [/^ENOSPC/])
  t.equal(errors.length, 1)
})

t.test('the slow poll works where no watch can be set up at all', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  refuseWatches(t)
  const { changes } = await start(t, { sources: [file], poll: 20 })
  const seen = changes.until(() => content(file) === 'new')
  writeFileSync(file, 'new')
  await seen
  t.equal(content(file), 'new')
})

t.test('never runs the callback twice at once, and runs it once more for changes meanwhile', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  let running = 0
  let most = 0
  let calls = 0
  const gate = new Changes()
  const open = new Changes()
  const onChange = async (): Promise<void> => {
    most = Math.max(most, ++running)
    calls++
    const opened = open.next()
    gate.seen()
    await opened
    running--
  }
  const first = gate.next()
  await start(t, { sources: [file], onChange })
  await first
  for (const text of ['one', 'two', 'three']) writeFileSync(file, text)
  const second = gate.next()
  open.seen()
  await second
  open.seen()
  t.equal(most, 1)
  t.equal(calls, 2)
})

t.test('continues after a failed callback, and reports the failure', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  const errors: string[] = []
  const changes = new Changes()
  const onChange = async (): Promise<void> => {
    changes.seen()
    throw new Error('reload failed')
  }
  const first = changes.next()
  await start(t, { sources: [file], onChange, onError: error => errors.push(error.message) })
  await first
  const second = changes.next()
  writeFileSync(file, 'new')
  await second
  t.match(errors, ['reload failed'])
})

t.test('a callback that fails is called again at the next poll, and reported once', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  const errors: string[] = []
  const changes = new Changes()
  let calls = 0
  const onChange = async (): Promise<void> => {
    calls++
    changes.seen()
    if (calls < 4) throw new Error('reload failed')
  }
  const done = changes.until(() => calls === 4)
  await start(t, { sources: [file], onChange, poll: 20, onError: error => errors.push(error.message) })
  await done
  t.same(errors, ['reload failed'])
})

t.test('says nothing more once it is closed', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  const closed = await start(t, { sources: [file] })
  await closed.watch.close()
  const other = await start(t, { sources: [file] })
  const seen = other.changes.next()
  writeFileSync(file, 'new')
  await seen
  t.equal(closed.changes.count, 1)
})

t.test('may be closed before it is ready', async t => {
  const file = join(t.testdir({ 'gateway.yaml': '' }), 'gateway.yaml')
  const watch = watchSources({ sources: [file], folders: [], onChange: () => void t.fail('called after close') })
  await watch.close()
  await watch.ready
  t.pass('ready settles')
})
