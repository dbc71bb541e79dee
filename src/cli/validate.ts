import { Option } from 'commander'
import type { LoadedPlan } from '../runtime/load.js'
import { DEFAULT_FILE, type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { check, tell } from './loading.js'
import { nextSignal } from './signals.js'

interface Options {
  readonly format: 'text' | 'json' | 'github' | 'sarif'
  readonly strict?: boolean
  readonly watch?: boolean
}

/** `gateway validate`: what `serve` does before it starts, and no more. */
export const validateCommand: Define = (parent, io, end) => {
  parent
    .command('validate')
    .description('check a configuration; exit code 0 valid, 1 not valid, 2 no such file')
    .argument('[file]', 'configuration file', DEFAULT_FILE)
    .addOption(
      new Option('--format <format>', 'how problems are told')
        .choices(['text', 'json', 'github', 'sarif'])
        .default('text'),
    )
    .option('--strict', 'let warnings fail too')
    .option('--watch', 'check again whenever a file changes, until Ctrl-C')
    .addHelpText('after', example('gateway validate', 'gateway validate gateway.yaml --format github --strict'))
    .action(async (file: string, options: Options) => end(await validate(file, options, io)))
}

async function validate(file: string, options: Options, io: Io): Promise<number> {
  const loaded = await check(file, io)
  await report(loaded, file, options, io)
  return options.watch === true ? follow(loaded, file, options, io) : exitCode(loaded, options)
}

function exitCode({ plan, problems }: LoadedPlan, { strict }: Options): number {
  return plan === undefined || (strict === true && problems.length > 0) ? EXIT.failed : EXIT.ok
}

async function report(loaded: LoadedPlan, file: string, options: Options, io: Io): Promise<void> {
  if (options.format === 'text') return reportText(loaded, file, io)
  const { FORMATS } = await import('./formats/index.js')
  const text = FORMATS[options.format](loaded.problems)
  if (text !== '') print(io.stdout, text)
}

async function reportText({ plan, config, problems }: LoadedPlan, file: string, io: Io): Promise<void> {
  await tell(problems, io.stdout, io)
  const { green, red } = paints(coloured(io.stdout, io.env))
  if (plan === undefined || config === undefined) {
    print(io.stdout, `${red(file)} is not valid: ${tally(problems)}`)
    return
  }
  const facts = [
    count(plan.upstreams.size, 'upstream'),
    count(Object.keys(config.models).length, 'model'),
    count(plan.routes.length, 'route'),
  ]
  print(io.stdout, `${green(file)} is valid: ${facts.join(', ')}`)
}

/** `2 problems, 1 warning` */
function tally(problems: LoadedPlan['problems']): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  return [count(errors, 'problem'), ...(warnings === 0 ? [] : [count(warnings, 'warning')])].join(', ')
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
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
      last = await check(file, io).catch(unreadable)
      if (last instanceof CommandError) {
        if (!(before instanceof CommandError)) print(io.stderr, last.message)
        return
      }
      await watch.update(last.sources, last.watch)
      if (before instanceof CommandError || before.digest !== last.digest) await report(last, file, options, io)
    },
  })
  await nextSignal('SIGINT', 'SIGTERM')
  await watch.close()
  return last instanceof CommandError ? last.exit : exitCode(last, options)
}

/** What is told of a file that is not there any more; it may come back. */
function unreadable(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  throw error
}
