import { adminApiOf, askObject } from './admin-api.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly admin?: string
}

/** `gateway console`: a link that opens the console of a running gateway. */
export const consoleCommand: Define = (parent, io, end) => {
  takesSource(parent.command('console'))
    .description('print a link that opens the console of a running gateway, once and within ten minutes')
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', 'where its admin API is, instead of the address in the file')
    .addHelpText('after', example('gateway console', 'gateway console --admin http://127.0.0.1:8081'))
    .action(async (file: string | undefined, options: Options) => {
      end(await link(fileOf(file, options), options, await withVariables(io, options)))
    })
}

async function link(file: string, { admin }: Options, io: Io): Promise<number> {
  const api = await adminApiOf(file, admin, io)
  const made = await askObject(api, '/admin/session/link', { method: 'POST' })
  if (typeof made.path !== 'string') throw new CommandError('the admin API gave no link', EXIT.failed)
  print(io.stdout, `${api.origin}${made.path}`)
  return EXIT.ok
}
