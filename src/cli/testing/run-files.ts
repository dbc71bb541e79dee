import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { shownFile } from '../../config/problems.js'
import { CommandError, EXIT, type Io, print } from '../io.js'
import { check, givenText, printProblems } from '../loading.js'
import { OfflineConfig } from './offline-config.js'
import { type Ran, runTest } from './run-test.js'
import { readTests, type TestCase, type TestFile } from './test-file.js'

/** Tests that run at the same time. */
const AT_ONCE = 4

/** Runs the tests of the files, and prints TAP: https://testanything.org/tap-version-14-specification.html */
export async function runFiles(given: readonly string[], io: Io): Promise<number> {
  const files = given.length > 0 ? given : await ownFiles()
  if (files.length === 0) throw new CommandError('there is no *.test.yaml here; docs/testing.md shows one')
  const read: TestFile[] = []
  for (const file of files) {
    await givenText(file, io)
    const tests = await readTests(resolve(file))
    if ('problems' in tests) {
      await printProblems(tests.problems, io.stderr, io)
      throw new CommandError(`${file} is not valid`, EXIT.failed)
    }
    read.push(tests)
  }
  print(io.stdout, `TAP version 14\n1..${read.reduce((sum, { tests }) => sum + tests.length, 0)}`)
  let number = 0
  let failed = 0
  for (const one of read) {
    const config = await configOf(one.config, io)
    const asked = new Set<string>()
    for (const { test, ran } of await runAll(one, config)) {
      number++
      if (ran.faults.length > 0) failed++
      if (ran.model !== undefined) asked.add(ran.model)
      print(io.stdout, tapOf(number, test, ran))
    }
    print(io.stdout, coverage(config, asked))
  }
  return failed === 0 ? EXIT.ok : EXIT.failed
}

async function ownFiles(): Promise<readonly string[]> {
  const inTests = await readdir('tests').catch(() => [])
  const found = [...(await readdir('.')), ...inTests.map(name => `tests/${name}`)]
  return found.filter(name => /\.test\.ya?ml$/.test(name)).sort()
}

async function configOf(file: string, io: Io): Promise<OfflineConfig> {
  const { config, problems, sources } = await check(file, io, 'assume')
  if (config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw new CommandError(`${shownFile(file)} is not valid`, EXIT.failed)
  }
  return OfflineConfig.of(file, sources, config)
}

async function runAll({ tests, config: file }: TestFile, config: OfflineConfig): Promise<readonly Done[]> {
  const done: Done[] = []
  const waiting = [...tests.entries()]
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const [at, test] = one
      done[at] = { test, ran: await runTest(test, config, file).catch(failure) }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  return done
}

interface Done {
  readonly test: TestCase
  readonly ran: Ran
}

function failure(error: unknown): Ran {
  return { faults: [error instanceof Error ? error.message : String(error)], model: undefined }
}

function tapOf(number: number, { title, position }: TestCase, { faults }: Ran): string {
  const name = title.replaceAll(/[\\#]/g, '\\$&')
  if (faults.length === 0) return `ok ${number} - ${name}`
  const at = `${shownFile(position.file)}:${position.line}:${position.column}`
  const lines = faults.map(fault => `    - ${JSON.stringify(fault)}`)
  return [`not ok ${number} - ${name}`, '  ---', `  at: ${JSON.stringify(at)}`, '  faults:', ...lines, '  ...'].join(
    '\n',
  )
}

/** Which models of the configuration no test asked for. */
function coverage({ models }: OfflineConfig, asked: ReadonlySet<string>): string {
  const rest = models.filter(model => !asked.has(model))
  const names = rest.slice(0, 10).join(', ')
  const more = rest.length > 10 ? ` and ${rest.length - 10} more` : ''
  const sum = `# ${models.length - rest.length} of ${models.length} models are asked for by name`
  return rest.length === 0 ? sum : `${sum}; not ${names}${more}`
}
