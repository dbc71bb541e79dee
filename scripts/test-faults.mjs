#!/usr/bin/env node
// `npm run test:faults`: runs every test that carries the id of a fault (test/faults/ids.json), and prints for each fault what
// was done, how long that took, and the verdict. It fails where a test of a fault fails, or none ran.
//
//   npm run test:faults                 every fault
//   npm run test:faults -- F-U F-P8     all that concern upstreams, and one
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { faultIds, faultsAsked, faultTitles } from './faults.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ID = /\bF-[A-Z]\d+\b/g
/** Of what a fault is; the rest is in docs/faults.md. */
const MAX_FAULT_CHARS = 64
const MAX_TESTS_SHOWN = 3

const { ids, problems } = faultsAsked(process.argv.slice(2), faultIds())
if (problems.length > 0) {
  for (const problem of problems) console.error(problem)
  process.exit(2)
}
const wanted = new Set(ids.map(([id]) => id))
const files = [
  ...new Set(
    faultTitles()
      .filter(({ file, ids: carried }) => file.endsWith('.test.ts') && carried.some(id => wanted.has(id)))
      .map(({ file }) => `test/${file}`),
  ),
]

const folder = mkdtempSync(join(tmpdir(), 'faults-'))
const kept = join(folder, 'results')
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', '--results', kept, ...files], {
  cwd: ROOT,
  stdio: 'inherit',
})
const results = readFileSync(kept, 'utf8')
  .split('\n')
  .filter(line => line !== '')
  .map(line => JSON.parse(line))
rmSync(folder, { recursive: true })

let failed = 0
console.log(
  `\n${'id'.padEnd(6)} ${'fault'.padEnd(MAX_FAULT_CHARS)} ${'tests'.padStart(5)} ${'seconds'.padStart(8)}  verdict`,
)
for (const [id, { fault }] of ids) {
  const its = results.filter(({ name }) => name?.match(ID)?.includes(id))
  const verdict = verdictOf(its)
  if (verdict !== 'holds') failed++
  const text = fault.length > MAX_FAULT_CHARS ? `${fault.slice(0, MAX_FAULT_CHARS - 1)}…` : fault
  console.log(`${id.padEnd(6)} ${text.padEnd(MAX_FAULT_CHARS)} ${figure(its)}  ${verdict}`)
  for (const { file, name } of its.slice(0, MAX_TESTS_SHOWN))
    console.log(`         ${file.slice('test/'.length)}: ${name}`)
  if (its.length > MAX_TESTS_SHOWN) console.log(`         and ${its.length - MAX_TESTS_SHOWN} more`)
}
console.log(`\n${ids.length} faults, ${ids.length - failed} hold${status === 0 ? '' : '; a test failed, see above'}`)
process.exitCode = failed === 0 && status === 0 ? 0 : 1

function figure(its) {
  const seconds = its.reduce((sum, { ms = 0 }) => sum + ms, 0) / 1000
  return `${String(its.length).padStart(5)} ${seconds.toFixed(1).padStart(8)}`
}

function verdictOf(its) {
  if (its.some(({ ok }) => !ok)) return 'FAILED'
  const ran = its.filter(({ skipped }) => !skipped)
  return ran.length === 0 ? (its.length === 0 ? 'NO TEST RAN' : 'SKIPPED') : 'holds'
}
