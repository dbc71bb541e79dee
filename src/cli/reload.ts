import { isObject } from '../core/json.js'
import { type AdminApi, adminApiOf, askAdmin } from './admin-api.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, plainMessage, print } from './io.js'
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
  const api = await adminApiOf(file, admin, io, restart ? '' : ', or send SIGHUP to the process')
  const done = 'the workers are replaced, one after another'
  if (restart) return await changeOver(api, '/admin/restart', undefined, () => done, io)
  return await changeOver(api, '/admin/reload', undefined, serves, io)
}

/** Asks for another plan. Throws {@link CommandError} with what the API says where it does not take it. */
export async function changeOver(
  api: AdminApi,
  path: string,
  body: object | undefined,
  done: (answer: Readonly<Record<string, unknown>>) => string,
  io: Io,
): Promise<number> {
  const given = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await askAdmin(api, path, { method: 'POST', ...given, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const said: unknown = await response.json().catch(error => {
    if (!response.ok) return undefined
    throw plainMessage(error) === undefined ? new CommandError('the admin API gave no JSON', EXIT.failed) : error
  })
  const answer = isObject(said) ? said : {}
  if (response.ok) {
    const warnings = Array.isArray(answer.warnings) ? answer.warnings : []
    for (const warning of warnings) print(io.stderr, `warning: ${warning}`)
    print(io.stdout, done(answer))
    return EXIT.ok
  }
  const { message = `the admin API answered ${response.status}`, problems } = isObject(answer.error) ? answer.error : {}
  if (Array.isArray(problems)) for (const problem of problems) print(io.stderr, String(problem))
  throw new CommandError(String(message), EXIT.failed)
}

export function serves({ generation, canary }: Readonly<Record<string, unknown>>): string {
  if (!isObject(canary)) return `generation ${generation} serves`
  const share = Number((Number(canary.share) * 100).toFixed(3))
  return `generation ${canary.generation} gets ${share}% of each key's requests, generation ${generation} the others`
}
