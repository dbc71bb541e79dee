import { priceText } from '../core/bound-text.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { mustLoad, type Ready } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, sampleName, takesSource, withVariables } from './source.js'
import { table } from './table.js'

const HEAD = ['model', 'upstreams', 'kinds', 'serves', 'price of the first']
/** Protocols in a line of the table; JSON has all. */
const MAX_PROTOCOLS = 4

interface Options extends SourceOptions {
  readonly json?: true
}

interface Listed {
  readonly model: string
  /** In order of preference. */
  readonly upstreams: readonly ListedUpstream[]
  /** Protocols by which clients reach it now; none: all its upstreams are off. */
  readonly serves: readonly string[]
}

interface ListedUpstream {
  readonly name: string
  readonly kind?: string
  /** The upstream's own name for the model. */
  readonly as?: string
  /** Why it is off. */
  readonly off?: string
  /** USD, tokens by the million. Absent: not known. */
  readonly price?: string
}

/** `gateway models`: one line for each model that the file declares. */
export const modelsCommand: Define = (parent, io, end) => {
  takesSource(parent.command('models'))
    .description('list the models of a configuration, with their upstreams in order, and prices where they are known')
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('gateway models gateway.yaml'))
    .action(async (file: string | undefined, options: Options) => end(await models(fileOf(file, options), options, io)))
}

async function models(file: string, options: Options, io: Io): Promise<number> {
  const ready = await mustLoad(file, await withVariables(io, options), { priced: true })
  const all = Object.keys(ready.config.models).map(name => listed(name, ready))
  if (options.json) {
    print(io.stdout, JSON.stringify(all, undefined, 2))
    return EXIT.ok
  }
  const { bold } = paints(coloured(io.stdout, io.env))
  io.stdout.write(`${table({ head: HEAD, rows: all.map(row), paint: bold })}\n`)
  return EXIT.ok
}

function listed(model: string, { config, plan }: Ready): Listed {
  const serves = new Set<string>()
  const prices = new Map<string, string>()
  for (const { protocol, model: pointer, task, resolve } of plan.routes) {
    // Routes without a model in their requests resolve every name.
    const choice = pointer === undefined && task === undefined ? undefined : resolve(sampleName(model))
    if (choice === undefined) continue
    serves.add(protocol?.name ?? `${task?.kind.name} tasks`)
    for (const { upstream, tariff } of choice.groups.flatMap(({ exchanges }) => exchanges))
      if (tariff?.price !== undefined && !prices.has(upstream.name)) prices.set(upstream.name, priceText(tariff.price))
  }
  const upstreams = (config.models[model]?.targets ?? []).map(({ upstream: name, as }) => {
    const { kind, off } = config.upstreams[name] ?? {}
    const price = prices.get(name)
    return {
      name,
      ...(kind === undefined ? {} : { kind }),
      ...(as === undefined ? {} : { as }),
      ...(off === undefined ? {} : { off }),
      ...(price === undefined ? {} : { price }),
    }
  })
  return { model, upstreams, serves: [...serves] }
}

function row({ model, upstreams, serves }: Listed): readonly string[] {
  const named = upstreams.map(
    ({ name, as, off }) => `${name}${as === undefined ? '' : ` as ${as}`}${off === undefined ? '' : ' (off)'}`,
  )
  const kinds = new Set(upstreams.map(({ kind = 'none' }) => kind))
  const more = serves.length - MAX_PROTOCOLS
  const shown = `${serves.slice(0, MAX_PROTOCOLS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return [model, named.join(', '), [...kinds].join(', '), shown, upstreams[0]?.price ?? '']
}
