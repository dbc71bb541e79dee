import { InvalidArgumentError, Option } from 'commander'
import { placeOf } from '../core/config-place.js'
import { numbered } from '../core/numbered.js'
import { type Define, example, version } from './command.js'
import type { Check, Patient, Result } from './diagnosis/result.js'
import { coloured, EXIT, type Io, type Paint, paints, print, printable } from './io.js'
import { checkGiven, givenText, invalid, keeperOf, ownFiles, printProblems } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly format: 'text' | 'json'
  readonly offline?: true
  readonly tryCredentials?: true
  readonly timeout: number
}

const DEFAULT_TIMEOUT_S = 5
const MAX_TIMEOUT_S = 60

/** `gateway doctor`: whether this machine and what is around it can serve the configuration. */
export const doctorCommand: Define = (parent, io, end) => {
  takesSource(parent.command('doctor'))
    .description(
      'check files, ports, upstreams, certificates, clock, store and limits; exit codes: 0 no fault, 1 faults',
    )
    .argument('[file]', FILE_WORDS)
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .option('--offline', 'ask nothing beyond this machine')
    .option('--try-credentials', 'ask each upstream for its list of models with its credential')
    .option('--timeout <seconds>', 'for each connection', seconds, DEFAULT_TIMEOUT_S)
    .addHelpText('after', example('gateway doctor', 'gateway doctor --try-credentials --format json'))
    .action(async (file: string | undefined, options: Options) => end(await doctor(fileOf(file, options), options, io)))
}

async function doctor(file: string, options: Options, io: Io): Promise<number> {
  const ready = await withVariables(io, options)
  const given = await givenText(file, ready)
  // With credentials to try, all secrets are fetched: one that cannot be is why its upstream is off.
  const sections = options.tryCredentials === true ? undefined : ['store']
  const keeper = options.offline === true ? {} : await keeperOf(ready, sections)
  const { plan, config, problems, sources } = await checkGiven(file, { ...given, ...keeper }, ready)
  if (plan === undefined || config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw invalid(file)
  }
  // What standard input gave is not a file.
  const own = ownFiles(sources).filter(source => given.text === undefined || source !== placeOf(file))
  // Modules hold no secrets either, and who may change them may do what the gateway does.
  const isOfAll = (source: string): boolean => source === placeOf(file) || /\.(?:ya?ml|[cm]?js)$/.test(source)
  const patient: Patient = {
    ...{ config, plan, io: ready },
    files: own.filter(isOfAll),
    secrets: own.filter(source => !isOfAll(source)),
    options: {
      timeoutMs: options.timeout * 1000,
      ...(options.offline === true ? { offline: true } : {}),
      ...(options.tryCredentials === true ? { tryCredentials: true } : {}),
    },
  }
  const results: Result[] = []
  for (const one of await checks()) results.push(...(await one(patient)))
  print(io.stdout, options.format === 'json' ? json(results) : text(results, io))
  return results.some(({ state }) => state === 'fault') ? EXIT.failed : EXIT.ok
}

async function checks(): Promise<readonly Check[]> {
  const [{ checkVersions }, { checkFiles }, { checkSecrets }, { checkPorts }] = await Promise.all([
    import('./diagnosis/versions.js'),
    import('./diagnosis/files.js'),
    import('./diagnosis/secrets.js'),
    import('./diagnosis/ports.js'),
  ])
  const [{ checkResources }, { checkStore }, { checkUpstreams }, { checkCredentials }] = await Promise.all([
    import('./diagnosis/resources.js'),
    import('./diagnosis/store.js'),
    import('./diagnosis/upstreams.js'),
    import('./diagnosis/credentials.js'),
  ])
  return [
    checkVersions,
    checkFiles,
    checkSecrets,
    checkPorts,
    checkResources,
    checkStore,
    checkUpstreams,
    checkCredentials,
  ]
}

function json(results: readonly Result[]): string {
  const healthy = results.every(({ state }) => state !== 'fault')
  return JSON.stringify({ healthy, version: version(), results }, undefined, 2)
}

function text(results: readonly Result[], io: Io): string {
  const { red, yellow, green, dim, bold } = paints(coloured(io.stdout, io.env))
  const colours: Readonly<Record<Result['state'], Paint>> = { ok: green, warning: yellow, fault: red, skipped: dim }
  const width = Math.max(...results.map(({ check: name }) => name.length))
  const lines = results.flatMap(({ check: name, subject, state, found, advice }) => [
    `${colours[state](state.padEnd('warning'.length))}  ${name.padEnd(width)}  ${bold(printable(subject))}: ${printable(found)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 11)}${printable(advice)}`]),
  ])
  const count = (wanted: Result['state']): number => results.filter(({ state }) => state === wanted).length
  const [faults, warnings] = [count('fault'), count('warning')]
  const said = [
    ...(faults === 0 ? [] : [red(numbered(faults, 'fault'))]),
    ...(warnings === 0 ? [] : [yellow(numbered(warnings, 'warning'))]),
  ]
  return [...lines, '', said.length === 0 ? green('nothing to mend') : said.join(', ')].join('\n')
}

function seconds(given: string): number {
  const number = /^\d{1,2}$/.test(given) ? Number(given) : Number.NaN
  if (!(number >= 1 && number <= MAX_TIMEOUT_S))
    throw new InvalidArgumentError(`Expected 1 to ${MAX_TIMEOUT_S} seconds.`)
  return number
}
