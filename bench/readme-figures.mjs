// The lines of README that have figures. They come from the same runs as docs/benchmarks.md.

export const BEGIN = '<!-- figures: written by npm run bench:docs -->'
export const END = '<!-- end of the figures -->'
/** The plain request, which all products serve. */
const PLAIN = 'json 0.3 KiB'
const NAMES = { litellm: 'LiteLLM', portkey: 'Portkey' }

/** Text of README with its figures replaced. */
export function withFigures(readme, run, rivals) {
  const [before, rest] = readme.split(`${BEGIN}\n`)
  const [, after] = (rest ?? '').split(END)
  if (after === undefined) throw new Error('README.md has no place for figures')
  return `${before}${BEGIN}\n${figures(run, rivals)}\n${END}${after}`
}

/** Five lines at most; one is missing where a run did not measure it. */
export function figures(run, rivals) {
  const { gateway, direct, floor, nginx } = run.results[PLAIN].targets
  const memory = Math.max(...Object.values(run.results).map(({ targets }) => targets.gateway.rss))
  const stream = Object.entries(run.results).find(([, { unit }]) => unit === 'event')?.[1].targets
  const others = Object.entries(rivals.results[PLAIN]?.targets ?? {}).filter(
    ([name]) => !['gateway', 'direct'].includes(name),
  )
  const beside = nginx?.times === undefined ? '' : `, and ${fixed(nginx.times, 1)} times nginx`
  return [
    `- **Little is added**: ${fixed(gateway.p50 - direct.p50, 2)} ms to a chat request at the median, ${fixed(gateway.p99 - direct.p99, 2)} ms at the 99th percentile.`,
    `- **It costs ${fixed(gateway.cpu, 0)} µs of CPU a request**, key check, validation, usage and log included: ${fixed(floor.times, 1)} times a bare \`node:http\` and \`undici\` proxy${beside}.`,
    ...(stream === undefined
      ? []
      : [
          `- **A streamed event costs ${fixed(stream.gateway.cpu, 1)} µs** of CPU; the process keeps to ${fixed(memory, 0)} MiB with all kinds of request.`,
        ]),
    ...others.map(
      ([name, { times }]) =>
        `- **${NAMES[name] ?? name} ${rivals.versions[name]} takes ${fixed(1 / times, 1)} times its CPU** for the same request, in one run on one machine.`,
    ),
    '',
    '[All figures](docs/benchmarks.md), and the commands that repeat them.',
  ].join('\n')
}

function fixed(value, digits) {
  if (!Number.isFinite(value)) throw new Error('a figure of README was not measured')
  return value.toFixed(digits)
}
