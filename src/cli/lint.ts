import { readFile } from 'node:fs/promises'
import { Option } from 'commander'
import { isAddress, placeOf } from '../core/config-place.js'
import { numbered } from '../core/numbered.js'
import type { Problem } from '../core/problems.js'
import { type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import type { Explained } from './linting/rule.js'
import { checkGiven, givenText, ownFiles, printProblems } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json' | 'github' | 'sarif'
  readonly strict?: true
  readonly explain?: string
  readonly rules?: true
}

/** `gateway lint`: what is valid, and hardly meant or unwise. */
export const lintCommand: Define = (parent, io, end) => {
  takesSource(parent.command('lint'))
    .description('find what is valid and unwise; exit codes: 0 no error and no warning, 1 some, 2 file not found')
    .argument('[file]', FILE_WORDS)
    .addOption(
      new Option('--format <format>', 'output format').choices(['text', 'json', 'github', 'sarif']).default('text'),
    )
    .option('--strict', 'fail on notes too')
    .option('--explain <rule>', 'say what a rule finds, why, and what to write instead')
    .option('--rules', 'list the rules')
    .addHelpText('after', example('gateway lint', 'gateway lint --explain key-never-expires'))
    .action(async (file: string | undefined, options: Options) => end(await lint(file, options, io)))
}

async function lint(argument: string | undefined, options: Options, io: Io): Promise<number> {
  if (options.explain !== undefined || options.rules === true) return describe(options, io)
  const file = fileOf(argument, options)
  const ready = await withVariables(io, options)
  const given = await givenText(file, ready)
  const loaded = await checkGiven(file, given, ready, 'assume')
  const texts = new Map<string, string>()
  const main = placeOf(given.file ?? file)
  const files = [...(isAddress(main) ? [main] : []), ...ownFiles(loaded.sources)]
  for (const source of files.filter(one => one === main || /\.ya?ml$/.test(one))) {
    const text = source === main ? given.text : undefined
    texts.set(source, (text ?? (await readFile(source).catch(() => Buffer.alloc(0)))).toString('utf8'))
  }
  const { lintPlan } = await import('./linting/run.js')
  const problems = lintPlan(loaded, texts, Date.now())
  await report(problems, file, options, io)
  const counting = problems.filter(({ severity }) => options.strict === true || severity !== 'note')
  return counting.length === 0 ? EXIT.ok : EXIT.failed
}

async function report(problems: readonly Problem[], file: string, { format }: Options, io: Io): Promise<void> {
  if (format !== 'text') {
    const { FORMATS } = await import('./formats.js')
    const text = FORMATS[format](problems)
    if (text !== '') print(io.stdout, text)
    return
  }
  const named = problems.map(problem => ({ ...problem, message: `${problem.message} [${problem.rule}]` }))
  await printProblems(named, io.stdout, io)
  const { green, red, yellow } = paints(coloured(io.stdout, io.env))
  const counts = (['error', 'warning', 'note'] as const).flatMap(severity => {
    const number = problems.filter(problem => problem.severity === severity).length
    return number === 0 ? [] : [numbered(number, severity)]
  })
  const paint = problems.some(({ severity }) => severity === 'error') ? red : counts.length > 0 ? yellow : green
  print(io.stdout, `${paint(file)}: ${counts.length === 0 ? 'nothing to report' : counts.join(', ')}`)
}

async function describe({ explain }: Options, io: Io): Promise<number> {
  const { EXPLAINED } = await import('./linting/rules.js')
  if (explain === undefined) {
    const { bold } = paints(coloured(io.stdout, io.env))
    const rows = EXPLAINED.map(({ id, severity, finds }) => [id, severity, finds])
    print(io.stdout, table({ head: ['rule', 'severity', 'finds'], rows, paint: bold }))
    return EXIT.ok
  }
  const rule = EXPLAINED.find(({ id }) => id === explain)
  if (rule === undefined) {
    const { suggest } = await import('../config/suggest.js')
    const meant = suggest(
      explain,
      EXPLAINED.map(({ id }) => id),
    )
    const hint = meant === undefined ? 'gateway lint --rules lists them' : `did you mean ${meant}?`
    throw new CommandError(`there is no rule ${JSON.stringify(explain)}; ${hint}`)
  }
  print(io.stdout, explained(rule))
  return EXIT.ok
}

function explained({ id, severity, finds, why, mend }: Explained): string {
  return `${id} (${severity})\n\nFinds:    ${finds}\nWhy:      ${why}\nInstead:  ${mend}\nSwitch it off at an entry: # lint-off: ${id} (the reason)`
}
