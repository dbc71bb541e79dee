// Writes docs/benchmarks.md, and the figures of README.md, from what the last runs of bench/run.mjs and bench/rivals.mjs left in bench/out/:
// result.json and rivals.json, and where there are any, tls.json (--tls), node24.json and node26.json (--out=node24, by that Node).
// usage: node bench/write-docs.mjs
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { withFigures } from './readme-figures.mjs'

const read = name => JSON.parse(readFileSync(new URL(`out/${name}.json`, import.meta.url), 'utf8'))
const run = read('result')
const rivals = read('rivals')
if (run.quick || rivals.quick) throw new Error('figures of a quick run mean nothing: run both without --quick first')

const row = cells => `| ${cells.join(' | ')} |`
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')
const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : '–')

const beside = Object.entries(run.results).map(([name, { targets, unit }]) => {
  const { gateway, direct, floor, nginx } = targets
  const added = key => `${fixed(gateway[key] - direct[key], 2)} ms`
  return [
    `${name} (per ${unit})`,
    `${fixed(gateway.cpu, 1)} µs`,
    fixed(floor.times, 2),
    fixed(nginx?.times, 2),
    added('p50'),
    added('p99'),
    `${fixed(gateway.rss, 0)} MiB`,
  ]
})

const others = Object.entries(rivals.results).flatMap(([name, { targets, unit }]) =>
  Object.entries(targets)
    .filter(([target]) => target !== 'direct')
    .map(([target, { cpu, rate, p50, p99, rss, times }]) => [
      name,
      target === 'gateway' ? 'this gateway' : `${target} ${rivals.versions[target]}`,
      `${fixed(cpu, 1)} µs`,
      `${fixed(rate, 0)} ${unit}s/s`,
      `${fixed(p50, 2)} / ${fixed(p99, 2)} ms`,
      `${fixed(rss, 0)} MiB`,
      fixed(times, 3),
    ]),
)

/** The ratios of runs over TLS and on other versions of Node, a column each. */
const further = ['tls', 'node24', 'node26']
  .filter(name => existsSync(new URL(`out/${name}.json`, import.meta.url)))
  .map(name => read(name))
if (further.some(({ quick }) => quick)) throw new Error('figures of a quick run mean nothing')
const elsewhere = Object.entries(run.results).map(([name, { unit }]) => [
  `${name} (per ${unit})`,
  ...further.map(({ results }) => {
    const { gateway, floor, nginx } = results[name].targets
    return `${fixed(gateway.cpu, 1)} µs; ${fixed(floor.times, 2)}; ${fixed(nginx?.times, 2)}`
  }),
])
const headings = further.map(({ node, tls }) => (tls ? `TLS on both sides, ${node}` : node))

const text = `<!-- Written by \`npm run bench:docs\` from the last runs of \`npm run bench\` and \`npm run bench:rivals\`. -->
# Benchmarks

All figures of a table come from one run on one machine (${run.cores} cores, Node ${run.node}), with short rounds in turn, so that what else
the machine did weighs on all alike. The ratios are medians of the ratios of each round; absolute figures mean little elsewhere. Load:
\`bench/load.mjs\`, a closed loop of 16 connections (64 for streams) in a process of its own on the same machine.

## Beside a bare proxy and nginx

\`npm run bench\`. The floor is \`bench/floor.mjs\`: \`node:http\` and \`undici\`, which only forward. The gateway checks a key, scans and validates
each body against its schema, reads usage, and writes a log line. CPU is that of the process under load; added time is beside a direct
connection, one request at a time, of the smallest with 16 connections and 100 requests a second.

${table(['request', 'CPU', 'CPU / floor', 'CPU / nginx', 'p50 added', 'p99 added', 'memory'], beside)}

## Over TLS, and on other versions of Node

Runs of their own: \`npm run bench -- --tls\`, and \`npm run bench -- --out=node24\` with that Node. CPU; beside the floor; beside nginx.

${table(['request', ...headings], elsewhere)}

## Beside others

\`npm run bench:rivals\` installs each product from its registry and gives it the same model at the same upstream. A row is missing where a
product did not answer with success. Rounds are short, so no product is as warm here as above.

${table(['request', 'product', 'CPU', 'throughput', 'p50 / p99', 'memory', 'CPU of this gateway / that'], others)}
`
writeFileSync(new URL('../docs/benchmarks.md', import.meta.url), text)
const readme = new URL('../README.md', import.meta.url)
writeFileSync(readme, withFigures(readFileSync(readme, 'utf8'), run, rivals))
