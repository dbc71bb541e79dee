import { shownFile } from '../config/problems.js'
import { ConflictError, FileChange, UnwrittenError } from '../runtime/file-change.js'
import { DEFAULT_FILE, type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { check, oneText, ownFiles, printProblems, STANDARD_INPUT } from './loading.js'

interface Options {
  readonly check?: true
}

/** `gateway fmt`: writes files in one style; what they say stays. */
export const fmtCommand: Define = (parent, io, end) => {
  parent
    .command('fmt')
    .description('format configuration files; comments, order and values stay')
    .argument('[files...]', `files; "-" reads standard input (default: "${DEFAULT_FILE}" and what it includes)`)
    .option('--check', 'only list the files that would change; exits with 1 if there are any')
    .addHelpText('after', example('gateway fmt', 'gateway fmt --check gateway.yaml models/*.yaml'))
    .action(async (files: readonly string[], options: Options) => end(await fmt(files, options, io)))
}

async function fmt(files: readonly string[], options: Options, io: Io): Promise<number> {
  const results: Result[] = []
  for (const file of files.length > 0 ? files : await defaultFiles(io)) results.push(await one(file, options, io))
  if (options.check === true && results.every(result => result === 'same')) return EXIT.ok
  const failed = results.includes('failed') || (options.check === true && results.includes('changed'))
  return failed ? EXIT.failed : EXIT.ok
}

type Result = 'same' | 'changed' | 'failed'

/** The default file and those that it includes, without what the gateway ships. */
async function defaultFiles(io: Io): Promise<readonly string[]> {
  const { sources } = await check(DEFAULT_FILE, io, 'assume')
  return ownFiles(sources).filter(file => /\.ya?ml$/.test(file))
}

async function one(file: string, options: Options, io: Io): Promise<Result> {
  const read = await oneText(file, io)
  if (read === undefined) return 'failed'
  const { formatYaml } = await import('../config/formatting/format.js')
  const formatted = formatYaml(file, read.text)
  if ('problems' in formatted) {
    await printProblems(formatted.problems, io.stderr, io)
    return 'failed'
  }
  const isSame = read.bytes.equals(Buffer.from(formatted.text))
  if (file === STANDARD_INPUT && options.check !== true) io.stdout.write(formatted.text)
  else if (!isSame) {
    if (options.check !== true) await replace(file, formatted.text, read.bytes.toString())
    print(io.stdout, options.check === true ? notFormatted(file, io) : `formatted ${shownFile(file)}`)
  }
  return isSame ? 'same' : 'changed'
}

function notFormatted(file: string, io: Io): string {
  const { red } = paints(coloured(io.stdout, io.env))
  return `${red(shownFile(file))} is not formatted; run gateway fmt`
}

async function replace(file: string, text: string, before: string): Promise<void> {
  await FileChange.apply([{ path: file, text, before }]).catch(error => {
    if (!(error instanceof UnwrittenError)) throw error
    throw new CommandError(error.message, error instanceof ConflictError ? EXIT.failed : EXIT.usage)
  })
}
