// docs/reliability.md, from what bench/reliability.mjs has measured.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { root } from './stage.mjs'

const row = cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`

export function writeReport(results, { node, cores }) {
  const missed = results.filter(({ isMet }) => isMet === false)
  const unmeasured = results.filter(({ isMet }) => isMet === undefined)
  const list = those => (those.length === 0 ? 'none' : those.map(({ id }) => id).join(', '))
  const text = `<!-- Written by \`npm run bench:reliability\`. -->
# Reliability: goals and what was measured

\`npm run bench:reliability\` measures all of this, on a machine of ${cores} cores with Node ${node}. Each row is of the last run of its goal, and has
the load of the machine then: above ${cores}, processes waited for each other, and times are upper bounds. Gateways, Redis, PostgreSQL and nginx are real
processes, sockets are real, and what hangs hangs. Each goal is measured in a short form; *how* says what is shorter than the goal.

${results.length} goals: ${results.length - missed.length - unmeasured.length} met, missed: ${list(missed)}, not measured: ${list(unmeasured)}.

${[row(['', 'What', 'Goal', 'Measured', 'Met', 'Load', 'How']), row(['---', '---', '---', '---', '---', '---', '---']), ...results.map(rowOf)].join('\n')}

${cost()}What is beyond a short form is in tests of their own: \`npm run test:faults\`, \`test:kills\`, \`test:endurance\`, \`fuzz\` ([CONTRIBUTING](../CONTRIBUTING.md)).
`
  writeFileSync(root('docs/reliability.md'), text)
}

/** What the last run of bench/survival.mjs left. */
function cost() {
  const file = root('bench/out/survival.json')
  if (!existsSync(file)) return ''
  const { rows, rounds, quick } = JSON.parse(readFileSync(file, 'utf8'))
  if (quick) return ''
  const lines = Object.entries(rows).map(([name, { all, alike }]) => row([name, all.toFixed(3), alike.toFixed(3)]))
  return `## What it costs

\`npm run bench:survival\`: CPU of a relayed request with retries, health, a strategy over two targets, overload, a stream contract and
time-outs, beside the same without; goal: 1.05. The last column has two gateways that are alike: what is not further from 1 than that, this machine
could not tell (medians of ${rounds} rounds).

${[row(['request', 'all on / without', 'without / without']), row(['---', '---', '---']), ...lines].join('\n')}

`
}

function rowOf({ id, title, goal, figure, isMet, how, load }) {
  return row([id, title, goal, figure, isMet === undefined ? '–' : isMet ? 'yes' : '**no**', load.toFixed(0), how])
}
