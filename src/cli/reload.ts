import { isObject } from '../core/json.js'
import { type AdminApi, adminApiOf, askAdmin } from './admin-api.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly admin?: string
  readonly restart?: true
}

/** Compiling a large configuration in all workers takes time. */
const TIMEOUT_MS = 150_000

/** `gateway reload`: asks a running gateway, by its admin API, to read its files again. */
export const reloadCommand: Define = (parent, io, end) => {
  takesSource(parent.command('reload'))
    .description('let a running gateway read its files again, by its admin API; exits with 1 if they are not valid')
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', 'where its admin API is, instead of the address in the file')
    .option('--restart', 'replace its workers instead, one after another; each finishes its requests')
    .addHelpText('after', example('gateway reload', 'gateway reload gateway.yaml --restart'))
    .action(async (file: string | undefined, options: Options) => {
      end(await reload(fileOf(file, options), options, await withVariables(io, options)))
    })
}

async function reload(file: string, { admin, restart }: Options, io: Io): Promise<number> {
  const api = await adminApiOf(file, admin, io)
  const { status, body } = await ask(api, `/admin/${restart ? 'restart' : 'reload'}`)
  const { error } = body
  if (status < 300) {
    const warnings = Array.isArray(body.warnings) ? body.warnings : []
    for (const warning of warnings) print(io.stderr, `warning: ${warning}`)
    print(io.stdout, restart ? 'the workers are replaced, one after another' : `generation ${body.generation} serves`)
    return EXIT.ok
  }
  const { message = `the admin API answered ${status}`, problems } = isObject(error) ? error : {}
  if (Array.isArray(problems)) for (const problem of problems) print(io.stderr, String(problem))
  throw new CommandError(String(message), EXIT.failed)
}

async function ask(
  api: AdminApi,
  path: string,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const answer = await askAdmin(api, path, { method: 'POST', signal: AbortSignal.timeout(TIMEOUT_MS) })
  const body: unknown = await answer.json().catch(() => undefined)
  return { status: answer.status, body: isObject(body) ? body : {} }
}
