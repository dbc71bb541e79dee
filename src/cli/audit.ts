import { Option } from 'commander'
import type { Problem } from '../core/problems.js'
import type { Audit } from '../runtime/audit/audit.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { check, invalid, printProblems } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json' | 'github' | 'sarif'
  readonly strict?: true
}

/** `gateway audit`: which policies hold on which route, from the plan alone. */
export const auditCommand: Define = (parent, io, end) => {
  takesSource(parent.command('audit'))
    .description('show which policies hold on which route; exit codes: 0 no hole, 1 holes or an invalid file')
    .argument('[file]', FILE_WORDS)
    .addOption(
      new Option('--format <format>', 'output format; github and sarif have the holes alone')
        .choices(['text', 'json', 'github', 'sarif'])
        .default('text'),
    )
    .option('--strict', 'fail on warnings too')
    .addHelpText('after', example('gateway audit', 'gateway audit gateway.yaml --format github'))
    .action(async (file: string | undefined, options: Options) => end(await audit(fileOf(file, options), options, io)))
}

async function audit(file: string, options: Options, io: Io): Promise<number> {
  const loaded = await check(file, await withVariables(io, options), 'assume')
  const { plan, config, locate } = loaded
  if (plan === undefined || config === undefined) {
    await report(loaded.problems, undefined, options, io)
    throw invalid(file)
  }
  const { auditPlan } = await import('../runtime/audit/audit.js')
  const found = await auditPlan(plan, config)
  const problems = found.findings.map((finding): Problem => ({ ...finding, ...locate(finding.path) }))
  await report(problems, found, options, io)
  const holes = problems.filter(({ severity }) => severity === 'error').length
  if (options.format === 'text') {
    const { green, red } = paints(coloured(io.stdout, io.env))
    const routes = `${plan.routes.length} routes`
    print(io.stdout, holes === 0 ? `${green(file)}: ${routes}, no hole` : `${red(file)}: ${routes}, ${tally(holes)}`)
  }
  return holes === 0 && !(options.strict === true && problems.length > 0) ? EXIT.ok : EXIT.failed
}

async function report(problems: readonly Problem[], found: Audit | undefined, options: Options, io: Io): Promise<void> {
  if (options.format === 'text') {
    if (found !== undefined) print(io.stdout, await matrix(found, io))
    await printProblems(problems, io.stdout, io)
    return
  }
  const { FORMATS } = await import('./formats.js')
  const text = FORMATS[options.format](problems)
  if (options.format !== 'json' || found === undefined) {
    if (text !== '') print(io.stdout, text)
    return
  }
  const { COLUMNS } = await import('../runtime/audit/columns.js')
  const rows = found.rows.map(({ route = null, shipped, cells }) => ({
    ...{ route, shipped },
    policies: Object.fromEntries(COLUMNS.map(({ name }, at) => [name, cells[at]])),
  }))
  print(io.stdout, JSON.stringify({ ...(JSON.parse(text) as object), rows }, undefined, 2))
}

async function matrix({ rows }: Audit, io: Io): Promise<string> {
  const { COLUMNS } = await import('../runtime/audit/columns.js')
  const head = ['route', ...COLUMNS.map(({ name }) => name)]
  const { bold } = paints(coloured(io.stdout, io.env))
  return table({ head, rows: rows.map(({ route, cells }) => [route ?? '(no route)', ...cells]), paint: bold })
}

function tally(holes: number): string {
  return holes === 1 ? '1 hole' : `${holes} holes`
}
