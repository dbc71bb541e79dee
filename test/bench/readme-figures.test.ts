import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** The figures of README, which the last bench writes. */

const { withFigures } = (await import(pathToFileURL(join(packageRoot(), 'bench/readme-figures.mjs')).href)) as {
  withFigures(readme: string, run: object, rivals: object): string
}
const at = (cpu: number, p50: number, times: number): object => ({ cpu, p50, p99: 2 * p50, rss: 90, rate: 1000, times })
const RUN = {
  results: {
    'json 0.3 KiB': {
      unit: 'request',
      targets: { gateway: at(60, 0.5, 1), direct: at(0, 0.2, 0), floor: at(80, 0.6, 0.75), nginx: at(20, 0.3, 3) },
    },
    'sse 50 events': { unit: 'event', targets: { gateway: at(2.5, 0, 1), direct: at(0, 0, 0) } },
  },
}
const RIVALS = {
  versions: { slow: '1.2.3' },
  results: { 'json 0.3 KiB': { unit: 'request', targets: { gateway: at(60, 0.5, 1), slow: at(600, 5, 0.1) } } },
}

t.test('README has one place for figures, in which at most five lines with numbers are written', async t => {
  const readme = readFileSync(join(packageRoot(), 'README.md'), 'utf8')
  const written = withFigures(readme, RUN, RIVALS)
  const [, block = ''] = written.split('<!-- figures: written by npm run bench:docs -->')
  const lines = (block.split('<!-- end of the figures -->')[0] ?? '').split('\n').filter(line => line.startsWith('- '))
  t.ok(lines.length >= 3 && lines.length <= 5, lines.join('\n'))
  t.match(lines[0], '0.30 ms to a chat request at the median')
  t.match(lines[1], '60 µs of CPU')
  t.match(lines[1], '0.8 times a bare')
  t.match(lines.at(-1), 'slow 1.2.3 takes 10.0 times its CPU')
  t.equal(withFigures(written, RUN, RIVALS), written, 'written again it is the same')
})

t.test('without a place in README, and with a figure that was not measured, nothing is written', async t => {
  t.throws(() => withFigures('# Model gateway\n', RUN, RIVALS), { message: 'README.md has no place for figures' })
  const readme = readFileSync(join(packageRoot(), 'README.md'), 'utf8')
  const unmeasured = {
    results: { 'json 0.3 KiB': { targets: { gateway: {}, direct: {}, floor: {} } } },
  }
  t.throws(() => withFigures(readme, unmeasured, RIVALS), { message: 'a figure of README was not measured' })
})
