import { Option } from 'commander'
import type { Config } from '../core/config.js'
import type { Change } from '../plan/difference/difference.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { check, invalid, printProblems } from './loading.js'
import { fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

const KINDS = ['key', 'upstream', 'model'] as const
type Kind = (typeof KINDS)[number]

interface Options extends SourceOptions {
  readonly kind?: Kind
  readonly format: 'text' | 'json'
}

/** `gateway blast NAME`: what would be refused if a key, an upstream or a model went. Nothing is changed. */
export const blastCommand: Define = (parent, io, end) => {
  takesSource(parent.command('blast'))
    .description(
      'say what breaks if a key, an upstream or a model goes; exit codes: 0 nothing, 1 requests would be refused',
    )
    .argument('<name>', 'name of the key, upstream or model')
    .addOption(new Option('--kind <kind>', 'what it is, if several have the name').choices([...KINDS]))
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText('after', example('gateway blast north', 'gateway blast alice --kind key'))
    .action(async (name: string, options: Options) => {
      end(await blast(name, options, await withVariables(io, options)))
    })
}

async function blast(name: string, options: Options, io: Io): Promise<number> {
  const file = fileOf(undefined, options)
  const loaded = await check(file, io, 'assume')
  if (loaded.plan === undefined || loaded.config === undefined) {
    await printProblems(loaded.problems, io.stderr, io)
    throw invalid(file)
  }
  const before = { plan: loaded.plan, config: loaded.config }
  const kind = kindOf(name, before.config, options.kind)
  const config = without(before.config, kind, name)
  const [{ differenceOf }, { compileRead }, { CHANGE_FORMATS }] = await Promise.all([
    import('../plan/difference/difference.js'),
    import('../runtime/load.js'),
    import('./planning/formats.js'),
  ])
  const after = { plan: await compileRead(config, 'without', {}), config }
  const changes = differenceOf(before, after).filter(change => change.about === 'requests')
  const broken = changes.filter(isRefused)
  const text =
    changes.length === 0 ? `nothing breaks without the ${kind} ${name}` : CHANGE_FORMATS.text(changes, { file })
  print(io.stdout, options.format === 'json' ? CHANGE_FORMATS.json(changes) : text)
  return broken.length > 0 ? EXIT.failed : EXIT.ok
}

/** Served before, and not now: `404 model_not_found`. */
function isRefused({ after }: Change): boolean {
  return /^[45]\d\d /.test(after)
}

function kindOf(name: string, config: Config, wanted: Kind | undefined): Kind {
  const found = KINDS.filter(kind => Object.hasOwn(config[SECTIONS[kind]], name))
  const [one, other] = wanted === undefined ? found : found.filter(kind => kind === wanted)
  if (one === undefined) throw new CommandError(`no ${wanted ?? 'key, upstream or model'} is called ${name}`)
  if (other !== undefined) throw new CommandError(`${name} is a ${one} and a ${other}: give --kind`)
  return one
}

const SECTIONS = { key: 'keys', upstream: 'upstreams', model: 'models' } as const

/** An upstream that goes is off, so that all that names it still compiles. */
function without(config: Config, kind: Kind, name: string): Config {
  const upstream = config.upstreams[name]
  if (kind === 'upstream' && upstream !== undefined)
    return { ...config, upstreams: { ...config.upstreams, [name]: { ...upstream, off: 'gone' } } }
  const section = SECTIONS[kind]
  const left = Object.fromEntries(Object.entries(config[section]).filter(([one]) => one !== name))
  return { ...config, [section]: left }
}
