import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** The figures of README, which the last bench writes. */

const { withFigures } = (await import(pathToFileURL(join(packageRoot(), 'bench/readme-figures.mjs')).href)) as {
  withFigures(readme: string, run: object, rivals: object): string
}
const at = (cpu: number, p50: number, times: number, rss = 90): object => {
  return { cpu, p50, p99: 2 * p50, rss, rate: 1000, times }
}
const RUN = {
  results: {
    'json 0.3 KiB': {
      unit: 'request',
      targets: { gateway: at(60, 0.5, 1), direct: at(0, 0.2, 0), floor: at(80, 0.6, 0.75), nginx: at(20, 0.3, 3) },
    },
    'sse 50 events': { unit: 'event', targets: { gateway: at(2.5, 0, 1, 120), direct: at(0, 0, 0) } },
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
  t.match(lines[2], '2.5 µs** of CPU; the process keeps to 120 MiB with all kinds of request')
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

/** The cells of each row of the tables of a page, by their columns' names. */
function rowsOf(page: string): readonly Readonly<Record<string, string>>[] {
  const cells = (line: string): readonly string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim())
  return page.split(/\n{2,}/).flatMap(part => {
    const [head, rule, ...rows] = part.split('\n').filter(line => line.startsWith('|'))
    if (head === undefined || !rule?.startsWith('| ---')) return []
    const names = cells(head)
    return rows.map(row => Object.fromEntries(cells(row).map((cell, nth) => [names[nth] ?? '', cell])))
  })
}

/** What is wrong with the figures of README, beside those of docs/benchmarks.md. */
function strayFigures(readme: string, benchmarks: string): readonly string[] {
  const rows = rowsOf(benchmarks)
  const cell = (request: string, column: string, product = ''): string => {
    const found = rows.find(row => row.request === request && column in row && (row.product ?? '') === product)
    return found?.[column] ?? 'no cell'
  }
  const [, block = ''] = readme.split('<!-- figures: written by npm run bench:docs -->')
  const lines = (block.split('<!-- end of the figures -->')[0] ?? '').split('\n').filter(line => line.startsWith('- '))
  const memory = Math.max(...rows.map(row => ('CPU / floor' in row ? Number.parseFloat(row.memory ?? '') : 0)))
  const SMALL = 'json 0.3 KiB (per request)'
  const EVENT = 'sse 200 events (per event)'
  /** Each line, and the cells that its figures are of. */
  const known: readonly (readonly [line: RegExp, cells: readonly string[]])[] = [
    [/added\*\*: ([\d.]+) ms .* ([\d.]+) ms at the 99th/, [cell(SMALL, 'p50 added'), cell(SMALL, 'p99 added')]],
    [
      /\*\*It costs ([\d.]+) µs of CPU a request.* ([\d.]+) times a bare .* ([\d.]+) times nginx/,
      [cell(SMALL, 'CPU'), cell(SMALL, 'CPU / floor'), cell(SMALL, 'CPU / nginx')],
    ],
    [/streamed event costs ([\d.]+) µs.* keeps to ([\d.]+) MiB/, [cell(EVENT, 'CPU'), `${memory}`]],
  ]
  return lines.flatMap(line => {
    const [, product = '', version, times = ''] = /^- \*\*(\S+) ([\d.]+) takes ([\d.]+) times its CPU/.exec(line) ?? []
    if (version !== undefined) {
      const ratio = cell('json 0.3 KiB', 'CPU of this gateway / that', `${product.toLowerCase()} ${version}`)
      return isRounded(1 / Number(times), ratio) ? [] : [`${line}: ${ratio}`]
    }
    const [pattern, expected] = known.find(([one]) => one.test(line)) ?? []
    const figures = pattern?.exec(line)?.slice(1)
    if (figures === undefined || expected === undefined) return [`${line}: no table has this`]
    return figures.flatMap((figure, nth) => {
      const value = Number.parseFloat(expected[nth] ?? '')
      return isRounded(value, figure) ? [] : [`${line}: ${figure} is ${expected[nth]}`]
    })
  })
}

/** Whether a figure is the value, at the figure's own precision. */
function isRounded(value: number, figure: string): boolean {
  const digits = figure.split('.')[1]?.length ?? 0
  return Math.abs(value - Number(figure)) <= 0.5 * 10 ** -digits + 1e-9
}

t.test('each figure of README is in docs/benchmarks.md', async t => {
  const read = (name: string): string => readFileSync(join(packageRoot(), name), 'utf8')
  const [readme, benchmarks] = [read('README.md'), read('docs/benchmarks.md')]
  t.same(strayFigures(readme, benchmarks), [])
  const [, block = ''] = readme.split('<!-- figures: written by npm run bench:docs -->')
  const figures = (block.split('<!-- end')[0] ?? '').matchAll(
    /(?<![\w.])\d+(?:\.\d+)*(?=\*{0,2} (?:ms|µs|MiB|times|takes))/g,
  )
  const found = Array.from(figures, ({ 0: figure }) => figure)
  t.ok(found.length >= 9, found.join())
  for (const figure of new Set(found)) {
    const other = readme.replace(
      figure,
      figure.replace(/\d/, digit => `${(Number(digit) + 3) % 10}`),
    )
    t.ok(strayFigures(other, benchmarks).length > 0, `${figure} changed is found`)
  }
})

t.test('docs/scaling.md begins from the figures of docs/benchmarks.md', async t => {
  const read = (name: string): string => readFileSync(join(packageRoot(), name), 'utf8')
  const [scaling, rows] = [read('docs/scaling.md'), rowsOf(read('docs/benchmarks.md'))]
  const measured = (request: string): number =>
    Number.parseFloat(rows.find(row => row.request === request && 'CPU / floor' in row)?.CPU ?? '')
  const [whole, event] = [measured('json 16 KiB (per request)'), measured('sse 200 events (per event)')]
  const derived = [
    [/JSON request of 16 KiB \| ([\d.]+) µs: ([\d,]+) requests/, whole],
    [/event of a stream \| ([\d.]+) µs: ([\d,]+) events/, event],
  ] as const
  for (const [pattern, micros] of derived) {
    const [, cost = '', rate = ''] = pattern.exec(scaling) ?? []
    t.ok(isRounded(micros, cost), `${cost} µs is ${micros}`)
    t.ok(Math.abs(Number(rate.replace(',', '')) - 1e6 / micros) < 100, `${rate} a second is of ${micros} µs`)
  }
  const [, cost = '', ...cores] =
    /cores for relaying \(([\d.]+) µs a request\) \|([^|]+)\|([^|]+)\|([^|]+)\|/.exec(scaling) ?? []
  t.ok(isRounded(whole, cost), `${cost} µs is ${whole}`)
  for (const [nth, figure] of cores.entries()) t.ok(isRounded(whole * 10 ** (nth - 2), figure.trim()), figure)
  t.equal(cores.length, 3)
})
