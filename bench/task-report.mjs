// What tasks.mjs has measured, as lines for people, with what it is to come to.

const LINES = {
  calls: told =>
    Object.entries(told).map(([name, { rate, cpu, ratio }]) => {
      const target = name.startsWith('poll') ? ' (target 1.50)' : ''
      return `${name.padEnd(20)}${cell(rate, 7, 0)}/s ${cell(cpu, 6, 0)} µs CPU ${cell(ratio, 7, 2)} × models${target}`
    }),
  memory: (told, { open }) =>
    Object.entries(told).map(([name, { held, rss, asked }]) => {
      const what = { none: 'no task', open: `${open} open`, asked: 'and asked about' }[name]
      const more =
        name === 'none' ? '' : `, ${cell(held - told.none.held, 0, 1)} and ${cell(rss - told.none.rss, 0, 0)} more`
      const polls = asked > 0 ? `; ${asked} times` : ''
      return `${what.padEnd(20)}${cell(held, 7, 1)} MiB held, RSS ${cell(rss, 4, 0)} MiB${more}${polls}`
    }),
  start: ({ empty, full, slowest }, { open, finished }) => [
    `${started(empty)} with nothing in the store`,
    `${started(full)} with ${finished} finished and ${open} overdue (target 2.00 s), ${cell(full.seconds - empty.seconds, 0, 2)} s more`,
    `${cell(slowest, 0, 0)} ms for the slowest of the hundred polls after that`,
  ],
}

function started({ seconds, cpu }) {
  return `${cell(seconds, 0, 2)} s (${cell(cpu, 0, 2)} s of CPU)`
}

/** `load`: the load average before and after. */
export function show(driver, part, { load: { before, after }, ...told }, counts) {
  console.log(`${driver}, ${part} (load average ${cell(before, 0, 1)} → ${cell(after, 0, 1)})`)
  for (const line of LINES[part](told, counts)) console.log(`  ${line}`)
}

function cell(value, wide, digits) {
  return value.toFixed(digits).padStart(wide)
}
