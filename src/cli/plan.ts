import { Option } from 'commander'
import type { Change, Mark } from '../plan/difference/difference.js'
import { DEFAULT_FILE, type Define, example, list } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { STANDARD_INPUT } from './loading.js'
import { type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json' | 'markdown' | 'github' | 'sarif'
  readonly failOn?: readonly string[]
  readonly traffic?: string
}

/** `gateway plan`: the difference in meaning between two configurations. Nothing is sent, and no secret is needed. */
export const planCommand: Define = (parent, io, end) => {
  takesSource(parent.command('plan'))
    .description(
      'say what a change of the configuration means: who may use what, what goes where, what is lost; exit codes: 0 compared, 1 --fail-on met or a file invalid',
    )
    .argument(
      '[old]',
      'file, folder, git revision (HEAD~1 or HEAD~1:gateway.yaml), address of a file (https://….yaml, s3://, git+https://), or of a running admin API',
    )
    .argument('[new]', 'the same (default: the file of --file, as it is now)')
    .addOption(
      new Option('--format <format>', 'output format')
        .choices(['text', 'json', 'markdown', 'github', 'sarif'])
        .default('text'),
    )
    .option(
      '--fail-on <marks>',
      'exit 1 if there is a change with one of: weaker, loss, unreachable; with --traffic: loss, unreachable',
      list,
    )
    .option(
      '--traffic <log>',
      'instead of comparing, decide the requests of a log or of receipts again by NEW (or the only one given); OLD says what was lost before',
    )
    .addHelpText(
      'after',
      example(
        'gateway plan HEAD',
        'gateway plan origin/main:gateway.yaml gateway.yaml --format markdown --fail-on weaker',
      ),
    )
    .action(async (old: string | undefined, now: string | undefined, options: Options) => {
      const ready = await withVariables(io, options)
      const { traffic } = options
      end(
        traffic === undefined ? await plan(old, now, options, ready) : await again(traffic, [old, now], options, ready),
      )
    })
}

/** `--traffic` */
async function again(
  log: string,
  [old, now]: readonly [string | undefined, string | undefined],
  options: Options,
  io: Io,
): Promise<number> {
  const { format, file = DEFAULT_FILE } = options
  if (format !== 'text' && format !== 'json') throw new CommandError('--traffic prints text or json')
  if ([log, old, now].filter(word => word === STANDARD_INPUT).length > 1) throw new CommandError(ONE_INPUT)
  const [{ MARKS }, { sideOf }, { replay, trafficText }] = await Promise.all([
    import('../plan/difference/difference.js'),
    import('./planning/sides.js'),
    import('./planning/traffic.js'),
  ])
  const failing = marksOf(options.failOn ?? [], MARKS)
  if (failing.has('weaker'))
    throw new CommandError('--fail-on weaker is not of requests: compare without --traffic; with it, loss, unreachable')
  const before = old === undefined || now === undefined ? undefined : await sideOf(old, file, io)
  const facts = await replay(log, await sideOf(now ?? old ?? file, file, io), io, before)
  print(io.stdout, format === 'json' ? JSON.stringify(facts, undefined, 2) : trafficText(facts))
  const isLossy = failing.has('loss') && Object.keys(facts.lossy).length > 0
  const isUnreachable = failing.has('unreachable') && facts.unreachable > 0
  return isLossy || isUnreachable ? EXIT.failed : EXIT.ok
}

const ONE_INPUT = 'standard input can be given only once'

async function plan(old: string | undefined, now: string | undefined, options: Options, io: Io): Promise<number> {
  const file = options.file ?? DEFAULT_FILE
  if (old === undefined) throw new CommandError('name what to compare with, as in gateway plan HEAD')
  if (old === STANDARD_INPUT && now === STANDARD_INPUT) throw new CommandError(ONE_INPUT)
  const [{ differenceOf, MARKS }, { sideOf }, { CHANGE_FORMATS }] = await Promise.all([
    import('../plan/difference/difference.js'),
    import('./planning/sides.js'),
    import('./planning/formats.js'),
  ])
  const failing = marksOf(options.failOn ?? [], MARKS)
  const before = await sideOf(old, file, io)
  const after = await sideOf(now ?? file, file, io)
  const changes = differenceOf(before, after)
  const text = CHANGE_FORMATS[options.format](changes, { file: now === undefined ? file : after.file })
  if (text !== '') print(io.stdout, text)
  return changes.some(({ marks }) => marks.some(mark => failing.has(mark))) ? EXIT.failed : EXIT.ok
}

function marksOf(names: readonly string[], known: readonly Mark[]): ReadonlySet<Change['marks'][number]> {
  const strange = names.find(name => !known.some(mark => mark === name))
  if (strange !== undefined) throw new CommandError(`--fail-on: ${strange} is unknown; expected ${known.join(', ')}`)
  return new Set(known.filter(mark => names.includes(mark)))
}
