import { isIP } from 'node:net'
import type { Config } from '../core/config.js'
import { isObject, type JsonObject, parseJson } from '../core/json.js'
import type { AdminConfig } from '../core/process-config.js'
import { CommandError, EXIT, type Io } from './io.js'
import { mustLoad } from './loading.js'
import { errorMessage } from './trying/ask.js'

/** The admin API of a running gateway. */
export interface AdminApi {
  readonly origin: string
  readonly key: string
}

/** Where the gateway of a file has its admin API. `origin`: instead of the address in the file. */
export async function adminApiOf(file: string, origin: string | undefined, io: Io): Promise<AdminApi> {
  const { config } = await mustLoad(file, io)
  if (config.admin === undefined && origin === undefined) {
    throw new CommandError('the file has no admin API: write `admin: {}`, or send SIGHUP to the process')
  }
  return { origin: origin ?? originOf(config.admin), key: await secretOf(config, io) }
}

function originOf(admin: AdminConfig | undefined): string {
  const { host = '127.0.0.1', port, tls } = admin ?? {}
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${tls === undefined ? 'http' : 'https'}://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`
}

async function secretOf({ admin, store }: Pick<Config, 'admin' | 'store'>, io: Io): Promise<string> {
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

/** Throws {@link CommandError} where the API cannot be reached. */
export async function askAdmin({ origin, key }: AdminApi, path: string, options: RequestInit = {}): Promise<Response> {
  const url = `${origin}${path}`
  try {
    return await fetch(url, { ...options, headers: { authorization: `Bearer ${key}` } })
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    throw new CommandError(`${url} cannot be reached (${cause instanceof Error ? cause.message : cause})`, EXIT.failed)
  }
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
