import { Command, CommanderError } from 'commander'
import { auditCommand } from './audit.js'
import { blastCommand } from './blast.js'
import { type Define, example, version } from './command.js'
import { completionCommand } from './completion.js'
import { consoleCommand } from './console.js'
import { doctorCommand } from './doctor.js'
import { explainCommand } from './explain.js'
import { fmtCommand } from './fmt.js'
import { generationsCommand, rollbackCommand } from './generations.js'
import { importCommand } from './import.js'
import { initCommand } from './init.js'
import {
  CommandError,
  coloured,
  EXIT,
  type Io,
  type Output,
  paints,
  plainMessage,
  print,
  printableLines,
} from './io.js'
import { keysCommand } from './keys.js'
import { ledgerCommand } from './ledger.js'
import { lintCommand } from './lint.js'
import { manCommand } from './man.js'
import { modelsCommand } from './models.js'
import { openapiCommand } from './openapi.js'
import { planCommand } from './plan.js'
import { probeCommand } from './probe.js'
import { receiptsCommand } from './receipts.js'
import { recordCommand } from './record.js'
import { reloadCommand } from './reload.js'
import { routesCommand } from './routes.js'
import { schemaCommand } from './schema.js'
import { serveCommand } from './serve.js'
import { signUrlCommand } from './sign-url.js'
import { simulateCommand } from './simulate.js'
import { spendCommand } from './spend.js'
import { storeCommand } from './store.js'
import { tailCommand } from './tail.js'
import { tasksCommand } from './tasks.js'
import { testCommand } from './test.js'
import { topCommand } from './top.js'
import { topHelp } from './top-help.js'
import { tryCommand } from './try.js'
import { validateCommand } from './validate.js'
import { workCommand } from './work.js'

const COMMANDS: readonly Define[] = [
  serveCommand,
  reloadCommand,
  generationsCommand,
  rollbackCommand,
  validateCommand,
  explainCommand,
  planCommand,
  blastCommand,
  routesCommand,
  modelsCommand,
  openapiCommand,
  auditCommand,
  keysCommand,
  signUrlCommand,
  storeCommand,
  tasksCommand,
  spendCommand,
  ledgerCommand,
  receiptsCommand,
  topCommand,
  tailCommand,
  fmtCommand,
  lintCommand,
  doctorCommand,
  testCommand,
  recordCommand,
  probeCommand,
  consoleCommand,
  schemaCommand,
  initCommand,
  importCommand,
  completionCommand,
  manCommand,
  tryCommand,
  simulateCommand,
  workCommand,
]

/** These do their work whether or not anyone can read what they print: the terminal of a long run may be gone. */
const SERVING: ReadonlySet<string> = new Set(['serve', 'record', 'simulate', 'work'])

/**
 * The command line. Gives the exit code and never ends the process itself: 0 well, 1 what was asked for failed, 2 the
 * command line or a file given on it could not be used.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let code: number = EXIT.ok
  let isBroken = false
  const isServing = SERVING.has(argv[0] ?? '')
  const onBroken = (error: Error): void => {
    // The command may have returned by now.
    if (!isServing) process.exitCode = EXIT.failed
    if (!isBroken) print(io.stderr, `error: the output cannot be written (${error.message})`)
    isBroken = true
  }
  for (const output of [io.stdout, io.stderr]) watchOutput(output, onBroken)
  const program = build(io, ended => {
    code = ended
  })
  try {
    await program.parseAsync(wordsOf(program, argv), { from: 'user' })
    return isBroken && !isServing ? EXIT.failed : code
  } catch (error) {
    return failure(error, io)
  }
}

/** The program with all its commands, before any has run. */
export function build(io: Io, end: (code: number) => void): Command {
  const program = new Command('gateway')
    .description('An HTTP gateway for generative-model APIs, declared in one YAML file.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(text),
      outputError: (text, write) => write(withFileHint(text, program)),
      getOutHasColors: () => coloured(io.stdout, io.env),
      getErrHasColors: () => coloured(io.stderr, io.env),
    })
    .addHelpText('after', example('gateway init --provider simulator', 'gateway serve gateway.yaml'))
    .exitOverride()
  for (const define of COMMANDS) define(program, io, end)
  // Commands have taken over the settings of help by now, and keep their own form.
  program.configureHelp({ formatHelp: topHelp })
  return program
}

/**
 * The command line with `help COMMAND` as `COMMAND --help`, and without what is behind an unknown command: where `--help` is,
 * commander prints the help of the command above.
 */
function wordsOf(program: Command, argv: readonly string[]): readonly string[] {
  const path: string[] = []
  let command = program
  let wantsHelp = false
  for (const word of argv) {
    if (word.startsWith('-') || command.commands.length === 0) break
    if (word === 'help') {
      wantsHelp = true
      continue
    }
    path.push(word)
    const below = command.commands.find(one => [one.name(), ...one.aliases()].includes(word))
    if (below === undefined) return path
    command = below
  }
  return wantsHelp ? [...path, '--help'] : argv
}

/** Some commands have no place for the file among their words, where others have it. */
function withFileHint(text: string, program: Command): string {
  const [, name] = /^error: too many arguments for '([^']+)'/.exec(text) ?? []
  const command = program.commands.find(one => one.name() === name)
  const isByOption = command?.options.some(({ long }) => long === '--file') === true
  if (!isByOption || command.registeredArguments.some(one => /^files?$/.test(one.name()))) return text
  return `${text.trimEnd()} The configuration follows -f.\n`
}

function failure(error: unknown, io: Io): number {
  // commander has printed its own words already; help and version end this way too, with exit code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const { red } = paints(coloured(io.stderr, io.env))
  const message = plainMessage(error)
  if (message !== undefined) {
    print(io.stderr, `${red('error:')} ${printableLines(message)}`)
    return error instanceof CommandError ? error.exit : EXIT.failed
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  print(io.stderr, `${red('error:')} this is a bug in the gateway, please report it\n${stack}`)
  return EXIT.failed
}

/** `gateway routes | head` closes our output early, which is not a failure; a full disk is one. */
function watchOutput(output: Output, onBroken: (error: Error) => void): void {
  output.on('error', error => {
    if (!('code' in error) || error.code !== 'EPIPE') onBroken(error)
  })
}
