import { isIP } from 'node:net'
import { isObject } from '../core/json.js'
import type { AdminConfig } from '../core/process-config.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { mustLoad } from './loading.js'
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
  const { config } = await mustLoad(file, io)
  if (config.admin === undefined && admin === undefined) {
    throw new CommandError('the file has no admin API: write `admin: {}`, or send SIGHUP to the process')
  }
  const origin = admin ?? originOf(config.admin)
  const { status, body } = await ask(`${origin}/admin/${restart ? 'restart' : 'reload'}`, await secretOf(config, io))
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

function originOf(admin: AdminConfig | undefined): string {
  const { host = '127.0.0.1', port, tls } = admin ?? {}
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${tls === undefined ? 'http' : 'https'}://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

async function secretOf({ admin, store }: { admin?: AdminConfig; store: { path: string } }, io: Io): Promise<string> {
  const { ADMIN_KEY } = await import('../plan/keys.js')
  const { generatedKey } = await import('../runtime/generated-keys.js')
  const secret = admin?.secret
  const key =
    secret === undefined
      ? io.env.GATEWAY_ADMIN_KEY
      : secret.type === 'plain'
        ? secret.secret.reveal()
        : secret.type === 'generated'
          ? generatedKey(store.path, ADMIN_KEY, false)?.reveal()
          : io.env.GATEWAY_ADMIN_KEY
  if (key === undefined) throw new CommandError('the admin key is not here: set GATEWAY_ADMIN_KEY', EXIT.failed)
  return key
}

async function ask(
  url: string,
  key: string,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  try {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(url, { method: 'POST', headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body: unknown = await answer.json()
    return { status: answer.status, body: isObject(body) ? body : {} }
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    throw new CommandError(`${url} cannot be reached (${cause instanceof Error ? cause.message : cause})`, EXIT.failed)
  }
}
