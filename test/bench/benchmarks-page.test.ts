import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** docs/benchmarks.md, which a whole run of the bench writes. */

interface Named {
  readonly out?: string
  readonly tls: boolean
  readonly partial: boolean
}

const bench = (name: string): Promise<unknown> => import(pathToFileURL(join(packageRoot(), 'bench', name)).href)
const { benchmarksPage } = (await bench('benchmarks-page.mjs')) as {
  benchmarksPage(run: object, rivals: object, further: readonly object[]): string
}
const { outName } = (await bench('report.mjs')) as { outName(named: Named): string }

const TARGET = { cpu: 1, p50: 1, p99: 1, rss: 1, rate: 1, times: 1 }
const TARGETS = { gateway: TARGET, direct: TARGET, floor: TARGET, nginx: TARGET }
const run = (more: object = {}, calm: object = { connections: 1 }): object => {
  return { node: 'v20.0.0', cores: 2, results: { 'json 16 KiB': { unit: 'request', calm, targets: TARGETS } }, ...more }
}
const RIVALS = { versions: {}, results: {} }

/** Its sentences, with the machine of the run left out. */
function sentences(page: string): readonly string[] {
  const lines = page.split('\n').filter(line => !line.startsWith('|'))
  return lines.map(line => line.replace(/\d+ cores, Node v[\d.]+/, 'a machine'))
}

t.test('the page has the sentences that the bench writes', t => {
  const page = readFileSync(join(packageRoot(), 'docs/benchmarks.md'), 'utf8')
  t.same(sentences(page), sentences(benchmarksPage(run(), RIVALS, [])))
  t.end()
})

t.test('it says how requests were timed in its run', t => {
  const page = benchmarksPage(run({}, { connections: 16, rate: 100 }), RIVALS, [])
  t.match(page, 'one request at a time, of `json 16 KiB` with 16 connections and 100 requests a second.')
  t.end()
})

t.test('a run of some requests, or beside another checkout, leaves the figures alone, and makes no page', t => {
  t.equal(outName({ tls: false, partial: false }), 'result')
  t.equal(outName({ tls: true, partial: false }), 'tls')
  t.equal(outName({ tls: true, partial: true }), 'partial')
  t.equal(outName({ out: 'node24', tls: false, partial: false }), 'node24')
  t.throws(() => benchmarksPage(run({ partial: true }), RIVALS, []), /--only or --beside/)
  t.throws(() => benchmarksPage(run(), RIVALS, [run({ partial: true })]), /--only or --beside/)
  t.throws(() => benchmarksPage(run({ quick: true }), RIVALS, []), /quick/)
  t.end()
})
