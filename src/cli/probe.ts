import type { Config } from '../core/config.js'
import type { JsonObject } from '../core/json.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { givenText, keeperOf, mustLoad } from './loading.js'
import type { Declaration, Finding, Undecided } from './probing/findings.js'
import { fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly model: string
  readonly compare?: boolean
  readonly json?: boolean
  readonly dryRun?: boolean
  readonly url?: string
  readonly pictures?: boolean
}

/** `gateway probe`: what a server really does, found out by a fixed set of tiny requests. */
export const probeCommand: Define = (parent, io, end) => {
  takesSource(parent.command('probe'))
    .description(
      'find out what an upstream does by tiny requests, and print the traits, speaks and transforms to paste',
    )
    .argument('<upstream>', 'name of the upstream in the file')
    .argument('[file]', 'the configuration (default: gateway.yaml)')
    .requiredOption('--model <name>', "the upstream's name of the model to ask")
    .option(
      '--compare',
      'print only what is declared otherwise, or does not show; exit codes: 0 nothing, or what only some models have does not show; 1 otherwise',
    )
    .option('--url <address>', 'a picture that the server may fetch (http or https)', address)
    .option('--pictures', 'also make pictures, which costs more: 3 at most')
    .option('--dry-run', 'print the requests and the most that they cost; send nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', example('gateway probe local --model llama3', 'gateway probe local --model llama3 --compare'))
    .action(async (upstream: string, file: string | undefined, options: Options) => {
      end(await probe(upstream, fileOf(file, options), options, io))
    })
}

function address(text: string): string {
  if (URL.canParse(text) && /^https?:/i.test(text)) return text
  throw new CommandError(`--url ${text}: expected an address of http or https`)
}

async function probe(name: string, file: string, options: Options, io: Io): Promise<number> {
  const ready = await withVariables(io, options)
  const keeper = options.dryRun === true ? {} : await keeperOf(ready, ['upstreams', 'kinds'])
  const { plan, config } = await mustLoad(
    file,
    ready,
    { priced: true },
    { ...(await givenText(file, ready)), ...keeper },
  )
  const upstream = config.upstreams[name]
  if (upstream === undefined) throw new CommandError(`${file} has no upstream ${JSON.stringify(name)}`)
  if (upstream.off !== undefined) throw new CommandError(`the upstream ${name} is off: ${upstream.off}`)
  const { most, runProbes } = await import('./probing/run.js')
  if (options.dryRun === true) {
    print(io.stdout, most(config, name, options.model, options))
    return EXIT.ok
  }
  const { UpstreamLine } = await import('../runtime/upstream-line.js')
  const line = await UpstreamLine.open(plan, config, name, ready.env)
  if (line === undefined) throw new CommandError(`the upstream ${name} is off`)
  const findings = await runProbes(line, options.model, options).finally(() => line.close())
  const { declarationOf, driftOf, undecided } = await import('./probing/findings.js')
  const declaration = declarationOf(findings)
  if (options.compare === true)
    return compare(driftOf(declaration, findings, upstream), undecided(findings, upstream), options, io)
  print(
    io.stdout,
    options.json === true
      ? JSON.stringify({ findings, ...declaration }, undefined, 2)
      : text(name, findings, declaration, upstream),
  )
  return EXIT.ok
}

function compare(drift: readonly string[], open: readonly Undecided[], { json }: Options, io: Io): number {
  const unknown = open.map(({ line }) => line)
  const lines = [...drift, ...unknown]
  if (json === true) print(io.stdout, JSON.stringify({ drift, unknown }, undefined, 2))
  else print(io.stdout, lines.length === 0 ? 'the upstream does what is declared' : lines.join('\n'))
  return drift.length === 0 && open.every(one => one.isOfSomeModels) ? EXIT.ok : EXIT.failed
}

/** A line for each finding, as comments, then YAML to paste. */
function text(
  name: string,
  findings: readonly Finding[],
  { traits, speaks, request }: Declaration,
  { kind }: Config['upstreams'][string],
): string {
  const width = Math.max(...findings.map(one => one.name.length))
  const lines = findings.map(({ name: probed, found, reason }) =>
    `# ${probed.padEnd(width)}  ${found}${reason === undefined ? '' : `: ${reason}`}`.trimEnd(),
  )
  const members: JsonObject = {
    ...(Object.keys(traits).length > 0 && { traits }),
    ...(Object.keys(speaks).length > 0 && { speaks }),
    ...(request.length > 0 && { request }),
  }
  const head = ['upstreams:', `  ${name}:`, ...(kind === undefined ? [] : [`    kind: ${kind}`])]
  return [
    ...lines,
    ...head,
    ...Object.entries(members).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`),
  ].join('\n')
}
