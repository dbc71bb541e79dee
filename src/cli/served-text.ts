import { type AdminApi, askAdmin, goodAnswer } from './admin-api.js'
import { CommandError, EXIT, type Io } from './io.js'

/** A generation of a running gateway. */
interface Served {
  readonly number: number
  readonly serving: boolean
}

/**
 * What the file of a running gateway said at a generation, or says that serves. Throws {@link CommandError} where it is not known any
 * more, or has secrets in plain text, which the admin API does not show.
 */
export async function servedText(api: AdminApi, generation?: number): Promise<string> {
  const ask = async (path: string): Promise<unknown> => (await goodAnswer(await askAdmin(api, path))).json()
  const number = generation ?? (await serving(ask))
  const { text, masked } = (await ask(`/admin/generations/${number}/file`)) as {
    readonly text: string
    readonly masked: boolean
  }
  if (!masked) return text
  const why = 'its file has secrets in plain text, which the admin API does not show: name them by { env: NAME }'
  throw new CommandError(`generation ${number} at ${api.origin} cannot be read: ${why}`, EXIT.failed)
}

async function serving(ask: (path: string) => Promise<unknown>): Promise<number | undefined> {
  const { data } = (await ask('/admin/generations')) as { readonly data: readonly Served[] }
  return data.find(one => one.serving)?.number
}

/** For commands that read the file from standard input. */
export async function withText(text: string, io: Io): Promise<Io> {
  const { Readable } = await import('node:stream')
  return { ...io, stdin: Readable.from([Buffer.from(text)]) }
}
