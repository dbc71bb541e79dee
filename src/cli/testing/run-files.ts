import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { shownFile } from '../../config/problems.js'
import { CommandError, EXIT, type Io, print, printableLines } from '../io.js'
import { check, oneFile, ownFiles, printProblems } from '../loading.js'
import { Coverage } from './coverage.js'
import { OfflineConfig } from './offline-config.js'
import { readTests } from './read-tests.js'
import { type Done, type DoneFile, REPORTS, type TestFormat } from './reports.js'
import { type Ran, runTest } from './run-test.js'
import { takesTime } from './scripted-upstreams.js'
import { Snapshots } from './snapshots.js'
import type { TestCase, TestFile } from './test-file.js'
import { VirtualClock } from './virtual-clock.js'
import { watchFiles } from './watch.js'

/** Tests that run at the same time. */
const AT_ONCE = 4
const NS_PER_MS = 1_000_000n

export interface TestOptions {
  readonly format: TestFormat
  /** Snapshots are written anew. */
  readonly update: boolean
  readonly watch: boolean
}

/** Runs the tests of the files, and prints the report. With `watch` it does so after each change, until a signal. */
export async function runFiles(given: readonly string[], options: TestOptions, io: Io): Promise<number> {
  if (!options.watch) return runOnce(given, options, io, new Set())
  await watchFiles(async () => {
    const sources = new Set<string>()
    try {
      await runOnce(given, options, io, sources)
    } catch (cause) {
      if (!(cause instanceof CommandError)) throw cause
      print(io.stderr, printableLines(cause.message))
      for (const file of [...given, ...(await testFiles())]) sources.add(resolve(file))
    }
    return [...sources]
  })
  return EXIT.ok
}

/** Gives the exit code, and adds to `sources` the tests and what their configurations are read from, also where one is not valid. */
async function runOnce(
  given: readonly string[],
  { format, update }: TestOptions,
  io: Io,
  sources: Set<string>,
): Promise<number> {
  const files = given.length > 0 ? given : await testFiles()
  if (files.length === 0) throw new CommandError('there is no *.test.yaml here; docs/testing.md shows one')
  const read: TestFile[] = []
  for (const file of files) {
    await oneFile(file, io, false)
    const tests = await readTests(resolve(file))
    if ('problems' in tests) {
      await printProblems(tests.problems, io.stderr, io)
      throw new CommandError(`${file} is not valid`, EXIT.failed)
    }
    read.push(tests)
  }
  const done: DoneFile[] = []
  for (const one of read) {
    for (const file of [one.file, ...one.bodies, one.config]) sources.add(file)
    const config = await configOf(one.config, io, sources)
    done.push(await runFile(one, config, update))
  }
  print(io.stdout, REPORTS[format](done))
  const isGood = done.every(file => file.done.every(({ faults }) => faults.length === 0))
  return isGood ? EXIT.ok : EXIT.failed
}

async function testFiles(): Promise<readonly string[]> {
  const inTests = await readdir('tests').catch(() => [])
  const found = [...(await readdir('.')), ...inTests.map(name => `tests/${name}`)]
  return found.filter(name => /\.test\.ya?ml$/.test(name)).sort()
}

async function configOf(file: string, io: Io, files: Set<string>): Promise<OfflineConfig> {
  const { config, problems, documents, sources } = await check(file, io, 'assume')
  for (const source of ownFiles(sources)) files.add(source)
  if (config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw new CommandError(`${shownFile(file)} is not valid`, EXIT.failed)
  }
  return new OfflineConfig(documents, config)
}

/** Tests with times run after the others, one by one: they move the clocks of this process. */
async function runFile({ tests, file }: TestFile, config: OfflineConfig, update: boolean): Promise<DoneFile> {
  const snapshots = await Snapshots.of(file, update)
  const coverage = new Coverage(config)
  try {
    const done = await runTests(tests, { config, snapshots, coverage })
    await snapshots.save()
    return { file, done, coverage: coverage.all }
  } finally {
    coverage.stop()
  }
}

interface Run {
  readonly config: OfflineConfig
  readonly snapshots: Snapshots
  readonly coverage: Coverage
}

async function runTests(tests: readonly TestCase[], { config, snapshots, coverage }: Run): Promise<readonly Done[]> {
  const done: Done[] = []
  const run = async ([at, test]: readonly [number, TestCase], clock?: VirtualClock): Promise<void> => {
    const started = process.hrtime.bigint()
    const ran = await runTest(test, { config, snapshots, clock }).catch(failure)
    coverage.add(ran)
    done[at] = { test, faults: ran.faults, milliseconds: Number((process.hrtime.bigint() - started) / NS_PER_MS) }
  }
  const all = [...tests.entries()]
  const timed = all.filter(([, test]) => needsClock(test, config))
  await inParallel(
    all.filter(one => !timed.includes(one)),
    one => run(one),
  )
  for (const one of timed) {
    const clock = new VirtualClock(config.timeZone)
    await run(one, clock).finally(() => clock.stop())
  }
  return done
}

function needsClock({ before, request, upstream }: TestCase, { queues }: OfflineConfig): boolean {
  if (queues && before.length > 0) return true
  return takesTime(upstream) || [...before, request].some(({ after }) => after !== undefined)
}

async function inParallel<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...all]
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await run(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}

function failure(error: unknown): Ran {
  const message = error instanceof Error ? error.message : String(error)
  return { faults: [message], models: [], targets: [], keys: [] }
}
