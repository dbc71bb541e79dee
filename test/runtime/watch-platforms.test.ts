import { EventEmitter } from 'node:events'
import fs, { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type WatchOptions, watchSources } from '../../src/runtime/watch.js'
import { WatchPoint } from '../../src/runtime/watch-points.js'
import { Journal } from '../helpers/journal.js'
import { pretends } from '../helpers/platform.js'

/**
 * Watching on systems that CI does not have: the platform is faked, and so are the events of the system, in the order and with
 * the names in which Windows (ReadDirectoryChangesW) and macOS (FSEvents) report them. Files are real.
 */

const NEVER = 3_600_000

/** One event of the system: its kind, and the entry that it names. */
type Event = readonly [kind: 'rename' | 'change', name: string | null]

/** The open watches, by folder. They report what the test reports, and nothing else. */
class System {
  readonly opened = new Journal<string>('opened watches')
  readonly #open = new Map<string, EventEmitter>()

  constructor(t: Test, platform: 'win32' | 'darwin') {
    pretends(t, platform)
    const real = fs.watch
    fs.watch = ((path: string, _options: object, listener: (kind: string, name: string | null) => void) => {
      const watcher = Object.assign(new EventEmitter(), { close: () => this.#open.delete(path) })
      watcher.on('change', listener)
      this.#open.set(path, watcher)
      this.opened.push(path)
      return watcher
    }) as never
    syncBuiltinESMExports()
    t.teardown(() => {
      fs.watch = real
      syncBuiltinESMExports()
    })
  }

  report(folder: string, ...events: readonly Event[]): void {
    const watcher = this.#open.get(folder)
    if (watcher === undefined) throw new Error(`no watch is open for ${folder}`)
    for (const [kind, name] of events) watcher.emit('change', kind, name)
  }
}

interface Stage {
  readonly system: System
  readonly file: string
  readonly folder: string
  /** What the file had at each call of `onChange`. */
  readonly seen: Journal<string>
}

const UNREADABLE = 'not there'

function content(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return UNREADABLE
  }
}

/** Watches a file, and waits for the report that everything new gets. */
async function stage(t: Test, platform: 'win32' | 'darwin', options: Partial<WatchOptions> = {}): Promise<Stage> {
  const folder = join(fs.realpathSync(t.testdir({ conf: { 'gateway.yaml': 'old' } })), 'conf')
  const file = join(folder, 'gateway.yaml')
  const system = new System(t, platform)
  const seen = new Journal<string>('changes')
  const onChange = (): void => seen.push(content(file))
  const watch = watchSources({ sources: [file], folders: [], onChange, quiet: 5, poll: NEVER, ...options })
  t.teardown(() => watch.close())
  await watch.ready
  await seen.count(1)
  return { system, file, folder, seen }
}

t.test('Windows: a file that is renamed over another comes as many events, and is one change', async t => {
  const { system, file, folder, seen } = await stage(t, 'win32')
  writeFileSync(`${file}.tmp`, 'new')
  renameSync(`${file}.tmp`, file)
  system.report(
    folder,
    ...([
      ['rename', 'gateway.yaml.tmp'],
      ['change', 'gateway.yaml.tmp'],
      ['rename', 'gateway.yaml'],
      ['rename', 'gateway.yaml.tmp'],
      ['rename', 'gateway.yaml'],
      ['change', 'gateway.yaml'],
      ['change', 'gateway.yaml'],
    ] satisfies Event[]),
  )
  await seen.count(2)
  writeFileSync(file, 'newer')
  system.report(folder, ['change', 'gateway.yaml'])
  await seen.count(3)
  t.same(seen.items, ['old', 'new', 'newer'])
})

t.test('Windows: an overflow of its buffer comes without a name, and is looked at', async t => {
  const { system, file, folder, seen } = await stage(t, 'win32')
  writeFileSync(file, 'new')
  system.report(folder, ['change', null])
  await seen.count(2)
  t.same(seen.items, ['old', 'new'])
})

t.test(
  'Windows: a folder that is deleted ends its watch without an event, and the comparison finds the new one',
  async t => {
    const { system, file, folder, seen } = await stage(t, 'win32', { poll: 10 })
    const opened = system.opened.items.length
    // NTFS gives no number of a file twice; where this runs, a number may be free again at once.
    renameSync(folder, `${folder}.old`)
    mkdirSync(folder)
    rmSync(`${folder}.old`, { recursive: true })
    writeFileSync(file, 'new')
    await seen.find(text => text === 'new')
    await system.opened.count(opened + 1)
    const before = seen.items.length
    system.report(folder, ['change', 'gateway.yaml'])
    await seen.count(before + 1)
    t.equal(seen.items.at(-1), 'new')
  },
)

t.test('macOS: a file that is written in place comes as renamed, once for several writes', async t => {
  const { system, file, folder, seen } = await stage(t, 'darwin')
  for (const text of ['a', 'b', 'new']) writeFileSync(file, text)
  system.report(folder, ['rename', 'gateway.yaml'])
  await seen.count(2)
  t.same(seen.items, ['old', 'new'])
})

t.test('macOS: a folder that is replaced is reported by its own name, and the new one is watched', async t => {
  const { system, file, folder, seen } = await stage(t, 'darwin')
  const opened = system.opened.items.length
  renameSync(folder, `${folder}.old`)
  mkdirSync(folder)
  writeFileSync(file, 'new')
  system.report(folder, ['rename', 'conf'])
  await seen.find(text => text === 'new')
  await system.opened.count(opened + 1)
  writeFileSync(file, 'newer')
  system.report(folder, ['rename', 'gateway.yaml'])
  await seen.find(text => text === 'newer')
  t.equal(content(join(`${dirname(file)}.old`, 'gateway.yaml')), 'old')
})

for (const platform of ['win32', 'darwin'] as const) {
  t.test(`${platform}: what reports nothing, such as a network share, is compared`, async t => {
    const { file, seen } = await stage(t, platform, { poll: 10 })
    writeFileSync(file, 'new')
    await seen.find(text => text === 'new')
    rmSync(file)
    await seen.find(text => text === UNREADABLE)
    writeFileSync(file, 'back')
    await seen.find(text => text === 'back')
    t.pass('three changes without an event')
  })

  t.test(`${platform}: names are those of the disk, in other letters than the command line had`, async t => {
    pretends(t, platform)
    const point = new WatchPoint('/gateway/Conf')
    point.add('Käse.yaml'.normalize('NFC'))
    t.ok(point.concernedBy('change', 'Käse.yaml'.normalize('NFD')))
    t.ok(point.concernedBy('change', 'KÄSE.YAML'))
    t.ok(point.isItself('conf'))
    t.notOk(point.concernedBy('change', 'other.yaml'))
  })
}

t.test('on Linux, names that differ in a capital letter are two files', async t => {
  pretends(t, 'linux')
  const point = new WatchPoint('/gateway/conf')
  point.add('gateway.yaml')
  t.notOk(point.concernedBy('change', 'Gateway.yaml'))
  t.notOk(point.isItself('Conf'))
})
