import { Option } from 'commander'
import type { Change, Mark } from '../plan/difference/difference.js'
import { DEFAULT_FILE, type Define, example, list } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { STANDARD_INPUT } from './loading.js'
import { type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json' | 'markdown' | 'github' | 'sarif'
  readonly failOn?: readonly string[]
}

/** `gateway plan`: the difference in meaning between two configurations. Nothing is sent, and no secret is needed. */
export const planCommand: Define = (parent, io, end) => {
  takesSource(parent.command('plan'))
    .description(
      'say what a change of the configuration means: who may use what, what goes where, what is lost; exit codes: 0 compared, 1 --fail-on met or a file invalid',
    )
    .argument('<old>', 'file, git revision (HEAD~1 or HEAD~1:gateway.yaml), or address of a running admin API')
    .argument('[new]', 'the same (default: the file of --file, as it is now)')
    .addOption(
      new Option('--format <format>', 'output format')
        .choices(['text', 'json', 'markdown', 'github', 'sarif'])
        .default('text'),
    )
    .option('--fail-on <marks>', 'exit 1 if there is a change with one of: weaker, loss, unreachable', list)
    .addHelpText(
      'after',
      example(
        'gateway plan HEAD',
        'gateway plan origin/main:gateway.yaml gateway.yaml --format markdown --fail-on weaker',
      ),
    )
    .action(async (old: string, now: string | undefined, options: Options) => {
      end(await plan(old, now, options, await withVariables(io, options)))
    })
}

async function plan(old: string, now: string | undefined, options: Options, io: Io): Promise<number> {
  const file = options.file ?? DEFAULT_FILE
  if (old === STANDARD_INPUT && now === STANDARD_INPUT) throw new CommandError('standard input can be given only once')
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
  if (strange !== undefined) throw new CommandError(`--fail-on: ${strange} is not one of ${known.join(', ')}`)
  return new Set(known.filter(mark => names.includes(mark)))
}
