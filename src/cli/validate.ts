import { Option } from 'commander'
import { ABSENT_SECRET } from '../config/secret-rule.js'
import type { Config } from '../core/config.js'
import { isAddress, shownSource } from '../core/config-place.js'
import { numbered } from '../core/numbered.js'
import type { LoadedPlan, LocatedPlan } from '../runtime/load.js'
import { type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { checkGiven, givenText, printProblems, STANDARD_INPUT } from './loading.js'
import { nextSignal } from './signals.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesAddress, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json' | 'github' | 'sarif'
  readonly strict?: boolean
  readonly watch?: boolean
  readonly secrets?: 'require' | 'assume'
  readonly modules: boolean
}

/** `gateway validate`: the steps that `serve` runs before it starts, and nothing else. */
export const validateCommand: Define = (parent, io, end) => {
  takesAddress(takesSource(parent.command('validate')))
    .description('check a configuration; exit codes: 0 valid, 1 invalid, 2 file not found')
    .argument('[files...]', FILE_WORDS)
    .addOption(
      new Option('--format <format>', 'output format of problems')
        .choices(['text', 'json', 'github', 'sarif'])
        .default('text'),
    )
    .option('--strict', 'fail on warnings too, except those about missing secrets')
    .addOption(
      new Option(
        '--secrets <mode>',
        'treat missing secrets as an error, or assume that they exist (the default if CI is set)',
      ).choices(['require', 'assume']),
    )
    .option('--no-modules', 'do not load modules of your own (checks, credentials), which runs them')
    .option('--watch', 'check again whenever a file changes, until Ctrl-C')
    .addHelpText(
      'after',
      example('gateway validate', 'gateway validate gateway.yaml --format github --strict --secrets assume'),
    )
    .action(async (files: readonly string[], options: Options) => {
      end(await validate(files, options, await withVariables(io, options)))
    })
}

async function validate(files: readonly string[], options: Options, io: Io): Promise<number> {
  const named = files.length > 1 && options.file === undefined ? files : [fileOf(files[0], options)]
  if (named.filter(file => file === STANDARD_INPUT).length > 1)
    throw new CommandError('standard input can be given only once')
  if (options.watch === true) {
    const [file = '', ...others] = named
    if (others.length > 0 || file === STANDARD_INPUT || isAddress(file))
      throw new CommandError('--watch is for one file on disk')
    const loaded = await load(file, options, io)
    await report([{ file, loaded }], options, io)
    return follow(loaded, file, options, io)
  }
  const checked: Checked[] = []
  let unreadable: number = EXIT.ok
  for (const file of named) {
    try {
      checked.push({ file, loaded: await load(file, options, io) })
    } catch (error) {
      if (!(error instanceof CommandError) || named.length === 1) throw error
      print(io.stderr, error.message)
      unreadable = error.exit
    }
  }
  await report(checked, options, io)
  return Math.max(unreadable, ...checked.map(({ loaded }) => exitCode(loaded, options)))
}

async function load(file: string, options: Options, io: Io): Promise<LocatedPlan> {
  const given = { ...(await givenText(file, io)), ...(options.modules && { loadsModules: true as const }) }
  return checkGiven(file, given, io, modeOf(options, io))
}

interface Checked {
  readonly file: string
  readonly loaded: LoadedPlan
}

/** `CI` is set by nearly every service that runs builds, and secrets are seldom there. */
function modeOf({ secrets }: Options, io: Io): 'require' | 'assume' | 'leave' {
  const isCi = io.env.CI !== undefined && !/^(|0|false)$/i.test(io.env.CI)
  return secrets ?? (isCi ? 'assume' : 'leave')
}

function exitCode({ plan, problems }: LoadedPlan, { strict }: Options): number {
  const counting = problems.filter(({ rule }) => rule !== ABSENT_SECRET)
  return plan === undefined || (strict === true && counting.length > 0) ? EXIT.failed : EXIT.ok
}

async function report(checked: readonly Checked[], options: Options, io: Io): Promise<void> {
  if (options.format === 'text') {
    for (const { file, loaded } of checked) await reportText(loaded, file, io)
    return
  }
  const { FORMATS } = await import('./formats.js')
  const text = FORMATS[options.format](checked.flatMap(({ loaded }) => loaded.problems))
  if (text !== '') print(io.stdout, text)
}

async function reportText({ plan, config, problems }: LoadedPlan, source: string, io: Io): Promise<void> {
  const file = shownSource(source)
  await printProblems(problems, io.stdout, io)
  const { green, red } = paints(coloured(io.stdout, io.env))
  if (plan === undefined || config === undefined) {
    print(io.stdout, `${red(file)} is not valid: ${tally(problems)}`)
    return
  }
  const facts = [
    numbered(plan.upstreams.size, 'upstream'),
    numbered(Object.keys(config.models).length, 'model'),
    numbered(plan.routes.length, 'route'),
  ]
  print(io.stdout, `${green(file)} is valid: ${facts.join(', ')}`)
  for (const line of [...secretsOf(config), ...absentOf(config)]) print(io.stdout, `  ${line}`)
}

/** How many secrets take turns, of upstreams that have several. */
function secretsOf({ upstreams }: Config): readonly string[] {
  return Object.entries(upstreams).flatMap(([name, { otherSecrets = [] }]) =>
    otherSecrets.length === 0 ? [] : [`the upstream ${name} has ${otherSecrets.length + 1} secrets`],
  )
}

/** Entries that are disabled because their secret is missing: not an error of the file. */
function absentOf({ upstreams, keys }: Config): readonly string[] {
  const off = Object.entries(upstreams).flatMap(([name, one]) =>
    one.off === undefined || one.off === 'disabled' ? [] : [`the upstream ${name} is off: ${one.off}`],
  )
  const unusable = Object.entries(keys).flatMap(([name, { absent }]) =>
    absent === undefined ? [] : [`the key ${name} cannot be used: ${absent}`],
  )
  return [...off, ...unusable]
}

/** `2 problems, 1 warning` */
function tally(problems: LoadedPlan['problems']): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  return [numbered(errors, 'problem'), ...(warnings === 0 ? [] : [numbered(warnings, 'warning')])].join(', ')
}

/**
 * Reports again after each change that changed anything, and when a file is back that could not be read. Ends with a
 * signal, and the last result.
 */
async function follow(first: LoadedPlan, file: string, options: Options, io: Io): Promise<number> {
  const { watchSources } = await import('../runtime/watch.js')
  let last: LoadedPlan | CommandError = first
  const watch = watchSources({
    sources: first.sources,
    folders: first.watch,
    onError: error => print(io.stderr, error.message),
    onChange: async () => {
      const before = last
      last = await load(file, options, io).catch(unreadable)
      if (last instanceof CommandError) {
        if (!(before instanceof CommandError)) print(io.stderr, last.message)
        return
      }
      await watch.update(last.sources, last.watch)
      if (before instanceof CommandError || before.digest !== last.digest)
        await report([{ file, loaded: last }], options, io)
    },
  })
  await nextSignal()
  await watch.close()
  return last instanceof CommandError ? last.exit : exitCode(last, options)
}

/** The message about a file that is gone; it may come back. */
function unreadable(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  throw error
}
