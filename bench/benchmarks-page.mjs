// docs/benchmarks.md, of one run of bench/run.mjs, one of bench/rivals.mjs, and further ones over TLS and by other versions of Node.

const row = cells => `| ${cells.join(' | ')} |`
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')
const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : '–')

/** Requests that were timed otherwise than one at a time. */
function howTimed({ results }) {
  const said = Object.entries(results)
    .filter(([, { calm }]) => calm?.rate !== undefined)
    .map(
      ([name, { calm }]) => `, of \`${name}\` with ${calm.connections} connections and ${calm.rate} requests a second`,
    )
  return said.join('')
}

/** The text of the page; it throws where a run was a short one, or left requests out. */
export function benchmarksPage(run, rivals, further) {
  const all = [run, rivals, ...further]
  if (all.some(({ quick }) => quick)) throw new Error('figures of a quick run mean nothing: run it without --quick')
  if (all.some(({ partial }) => partial))
    throw new Error('a run with --only or --beside is no whole one: run it without')
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

  const elsewhere = Object.entries(run.results).map(([name, { unit }]) => [
    `${name} (per ${unit})`,
    ...further.map(({ results }) => {
      const { gateway, floor, nginx } = results[name].targets
      return `${fixed(gateway.cpu, 1)} µs; ${fixed(floor.times, 2)}; ${fixed(nginx?.times, 2)}`
    }),
  ])
  const headings = further.map(({ node, tls }) => (tls ? `TLS on both sides, ${node}` : node))

  return `<!-- Written by \`npm run bench:docs\` from the last runs of \`npm run bench\` and \`npm run bench:rivals\`. -->
# Benchmarks

All figures of a table come from one run on one machine (${run.cores} cores, Node ${run.node}), with short rounds in turn, so that what else
the machine did weighs on all alike. The ratios are medians of the ratios of each round; absolute figures mean little elsewhere. Load:
\`bench/load.mjs\`, a closed loop of 16 connections (64 for streams) in a process of its own on the same machine.

## Beside a bare proxy and nginx

\`npm run bench\`. The floor is \`bench/floor.mjs\`: \`node:http\` and \`undici\`, which only forward. The gateway checks a key, scans and validates
each body against its schema, reads usage, and writes a log line. CPU is that of the process under load; added time is beside a direct
connection, one request at a time${howTimed(run)}.

${table(['request', 'CPU', 'CPU / floor', 'CPU / nginx', 'p50 added', 'p99 added', 'memory'], beside)}

## Over TLS, and on other versions of Node

Runs of their own: \`npm run bench -- --tls\`, and \`npm run bench -- --out=node24\` with that Node. CPU; beside the floor; beside nginx.

${table(['request', ...headings], elsewhere)}

## Beside others

\`npm run bench:rivals\` installs each product from its registry and gives it the same model at the same upstream. A row is missing where a
product did not answer with success. Rounds are short, so no product is as warm here as above.

${table(['request', 'product', 'CPU', 'throughput', 'p50 / p99', 'memory', 'CPU of this gateway / that'], others)}
`
}
