import { access, writeFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import { DEFAULT_FILE, type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { check, printProblems } from './loading.js'
import type { Provider } from './providers.js'
import type { Chosen } from './template.js'

interface Options {
  readonly provider?: readonly string[]
  readonly base?: Readonly<Record<string, string>>
  readonly keyEnv: string
  readonly force?: boolean
  readonly json?: true
}

/** `gateway init`: writes a gateway.yaml; asks on a terminal, takes options elsewhere. */
export const initCommand: Define = (parent, io, end) => {
  parent
    .command('init')
    .description('write a commented gateway.yaml for the providers you choose; asks for them on a terminal')
    .argument('[file]', 'file to write', DEFAULT_FILE)
    .option('--provider <name...>', 'providers to include (--provider list prints all)')
    .option('--base <name=url>', 'base URL of a provider that has no default address', base)
    .option('--key-env <name>', "environment variable that holds the callers' key", variable, 'GATEWAY_KEY')
    .option('--force', 'overwrite the file')
    .option('--json', 'print a JSON object: the file, whether it is valid, the next steps')
    .addHelpText(
      'after',
      example('gateway init', 'gateway init --provider list', 'gateway init team.yaml --provider simulator'),
    )
    .action(async (file: string, options: Options) => end(await init(file, options, io)))
}

async function init(file: string, options: Options, io: Io): Promise<number> {
  const [{ providers }, { askForProviders: ask, chooseProviders: choose, providerTable: listing }] = await Promise.all([
    import('./providers.js'),
    import('./choose-providers.js'),
  ])
  const known = await providers()
  if (options.provider?.includes('list')) {
    print(io.stdout, listing(known, io))
    return EXIT.ok
  }
  if (options.force !== true) await mustNotExist(file)
  const names = options.provider?.flatMap(name => name.split(',').filter(Boolean))
  const chosen = names === undefined || names.length === 0 ? await ask(known, io) : choose(known, names)
  return write(file, withBases(chosen, options.base ?? {}), options, io)
}

async function write(file: string, chosen: readonly Chosen[], options: Options, io: Io): Promise<number> {
  const { template } = await import('./template.js')
  await writeFile(file, template(file, chosen, options.keyEnv), { flag: options.force ? 'w' : 'wx' }).catch(error => {
    throw new CommandError(`${file} cannot be written (${error.code})`)
  })
  const { plan, problems } = await check(file, io)
  await printProblems(problems, io.stderr, io)
  if (options.json) {
    const facts = { file, valid: plan !== undefined, next: steps(file, chosen, io) }
    print(io.stdout, JSON.stringify(facts, undefined, 2))
    return plan === undefined ? EXIT.failed : EXIT.ok
  }
  print(io.stdout, `${paints(coloured(io.stdout, io.env)).green(file)} written. Next steps:\n`)
  for (const step of steps(file, chosen, io)) print(io.stdout, `  ${step}`)
  return plan === undefined ? EXIT.failed : EXIT.ok
}

/** The next steps, as lines to read or to paste. */
function steps(file: string, chosen: readonly Chosen[], io: Io): readonly string[] {
  const unplaced = chosen.filter(({ base, address }) => base === undefined && address === undefined)
  const variables = new Set(chosen.flatMap(one => one.variable ?? []))
  return [
    ...unplaced.map(({ name }) => `set the base of ${name} in ${file} to its address`),
    ...[...variables].filter(name => !io.env[name]).map(name => `export ${name}=…`),
    `gateway serve ${file}`,
  ]
}

async function mustNotExist(file: string): Promise<void> {
  const exists = await access(file).then(
    () => true,
    () => false,
  )
  if (exists) throw new CommandError(`${file} already exists; --force overwrites it`, EXIT.failed)
}

function withBases(chosen: readonly Provider[], bases: Readonly<Record<string, string>>): readonly Chosen[] {
  const unknown = Object.keys(bases).find(name => !chosen.some(provider => provider.name === name))
  if (unknown !== undefined)
    throw new CommandError(`--base names "${unknown}", which is not among the chosen providers`)
  return chosen.map(provider => ({ ...provider, address: bases[provider.name] }))
}

function base(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, url] = /^([\w.-]+)=(https?:\/\/\S+)$/.exec(text) ?? []
  if (name === undefined || url === undefined) throw new InvalidArgumentError('Write it as NAME=https://….')
  return { ...before, [name]: url }
}

function variable(text: string): string {
  if (!/^[A-Z_][A-Z0-9_]{0,127}$/.test(text)) {
    throw new InvalidArgumentError('A variable consists of capital letters, digits and "_".')
  }
  return text
}
