#!/usr/bin/env node
// Runs the tests of folders and files, and again whenever a source file changes: after a change of a test file that one,
// after any other change all of them, those of the changed file first.
//   npm run test:watch test/wire
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT, run, watchSources } from './watch-sources.mjs'

const chosen = process.argv.slice(2).map(path => relative(ROOT, path).replace(/\/$/, ''))
if (chosen.length === 0) {
  console.error('which tests? for example: npm run test:watch test/wire')
  process.exit(2)
}

await watchSources('build:test', async (paths, signal) => {
  const files = toRun(paths)
  if (files.length > 0) await run(process.execPath, ['scripts/test.mjs', '--each', ...files], signal)
  console.log(`watching ${chosen.join(' ')}`)
})

function toRun(paths) {
  const tests = paths.filter(path => path.endsWith('.test.ts'))
  if (paths.length === 0) return chosen
  if (tests.length === paths.length) return tests.filter(isChosen)
  // The tests of a source file come first: those of src/wire/sse.ts are test/wire/sse.test.ts.
  const own = paths.map(path =>
    path
      .replace(/^simulator\/src/, 'test/simulator')
      .replace(/^src/, 'test')
      .replace(/(\.test)?\.ts$/, '.test.ts'),
  )
  return [...own.filter(test => isChosen(test) && existsSync(join(ROOT, test))), ...chosen]
}

function isChosen(test) {
  return chosen.some(path => test === path || test.startsWith(`${path}/`))
}
