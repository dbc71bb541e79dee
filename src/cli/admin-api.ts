import { isIP } from 'node:net'
import type { Config } from '../core/config.js'
import { isObject, type JsonObject, parseJson } from '../core/json.js'
import type { AdminConfig } from '../core/process-config.js'
import { CommandError, EXIT, type Io } from './io.js'
import { mustLoad } from './loading.js'
import { errorMessage } from './trying/ask.js'
import { originAt } from './trying/target.js'

/** The admin API of a running gateway. */
export interface AdminApi {
  readonly origin: string
  readonly key: string
  /** Where the key comes from. */
  readonly keyFrom: string
}

/** Where the gateway of a file has its admin API. `at`: instead of the address in the file. `otherwise`: what else serves. */
export async function adminApiOf(file: string, at: string | undefined, io: Io, otherwise = ''): Promise<AdminApi> {
  const { config } = await mustLoad(file, io)
  if (config.admin === undefined && at === undefined)
    throw new CommandError(`the file has no admin API: write \`admin: {}\`${otherwise}`)
  const origin = at === undefined ? originOf(config.admin) : originAt(at)
  return { origin, ...(await secretOf(config, io)) }
}

function originOf(admin: AdminConfig | undefined): string {
  const { host = '127.0.0.1', port, tls } = admin ?? {}
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${tls === undefined ? 'http' : 'https'}://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

const VARIABLE = 'GATEWAY_ADMIN_KEY'

async function secretOf(
  { admin, store }: Pick<Config, 'admin' | 'store'>,
  { env }: Io,
): Promise<Pick<AdminApi, 'key' | 'keyFrom'>> {
  const { ADMIN_KEY } = await import('../plan/keys.js')
  const { generatedKey, keyFile } = await import('../runtime/generated-keys.js')
  const secret = admin?.secret
  const [key, keyFrom] =
    secret?.type === 'generated'
      ? [generatedKey(store.path, ADMIN_KEY, false)?.reveal(), keyFile(store.path, ADMIN_KEY)]
      : secret?.type === 'plain'
        ? [secret.secret.reveal(), secret.file ?? 'the `secret` of `admin`']
        : [env[VARIABLE], VARIABLE]
  if (key === undefined) throw new CommandError(`the admin key is not here: set ${VARIABLE}`, EXIT.failed)
  return { key, keyFrom: key === env[VARIABLE] ? VARIABLE : keyFrom }
}

/** Throws {@link CommandError} where the API cannot be reached, or refuses the key. */
export async function askAdmin(
  { origin, key, keyFrom }: AdminApi,
  path: string,
  options: RequestInit = {},
): Promise<Response> {
  const url = `${origin}${path}`
  const answer = await fetch(url, { ...options, headers: { authorization: `Bearer ${key}` } }).catch(
    (error: unknown) => {
      const cause = error instanceof Error ? (error.cause ?? error) : error
      throw new CommandError(
        `${url} cannot be reached (${cause instanceof Error ? cause.message : cause})`,
        EXIT.failed,
      )
    },
  )
  if (answer.status !== 401) return answer
  const isAdmin = /admin key/.test(await answer.text().catch(() => ''))
  const why = isAdmin
    ? `${origin} refuses the admin key, which is that of ${keyFrom}`
    : `${origin} is not the admin API, which listens at a port of its own: see \`admin\``
  throw new CommandError(why, EXIT.failed)
}

/** The answer, if it is good. Throws {@link CommandError} with what the API says. */
export async function goodAnswer(answer: Response): Promise<Response> {
  if (answer.ok) return answer
  const said = parseJson(await answer.text().catch(() => '')) ?? null
  throw new CommandError(errorMessage(said) ?? `the admin API answered ${answer.status}`, EXIT.failed)
}

/** The object of a good answer. Throws {@link CommandError} where it is something else, such as a page of HTML. */
export async function askObject(api: AdminApi, path: string, options?: RequestInit): Promise<JsonObject> {
  const document = parseJson(await (await goodAnswer(await askAdmin(api, path, options))).text()) ?? null
  if (!isObject(document)) throw new CommandError(`${api.origin} gave no JSON: is the admin API there?`, EXIT.failed)
  return document
}
