import type { SourceFile } from '../config/files.js'
import { placeOf } from '../core/config-place.js'
import { documentPath } from '../core/document-names.js'
import { type AdminApi, askObject } from './admin-api.js'
import { CommandError, EXIT } from './io.js'

/** A generation of a running gateway. */
interface Served {
  readonly number: number
  readonly serving: boolean
}

interface Told {
  readonly name: string
  readonly text: string
  readonly masked: boolean
}

/**
 * What the files of a running gateway said at a generation, or say that serve, the main one first, with paths as if
 * `file` were the configuration. Throws {@link CommandError} where they are no longer known, or have secrets in plain text, which
 * the admin API does not show.
 */
export async function servedDocuments(
  api: AdminApi,
  file: string,
  generation?: number,
): Promise<{ readonly documents: readonly SourceFile[] }> {
  const ask = (path: string): Promise<unknown> => askObject(api, path)
  const number = generation ?? (await serving(ask))
  const { included, ...main } = (await ask(`/admin/generations/${number}/file`)) as Told & {
    readonly included: readonly Told[]
  }
  const all = [main, ...included]
  const hidden = all.find(({ masked }) => masked)
  if (hidden === undefined) {
    const source = placeOf(file)
    return { documents: all.map(({ name, text }) => ({ path: documentPath(source, name), bytes: Buffer.from(text) })) }
  }
  const which = hidden.name === '' ? 'its file' : `its file ${hidden.name}`
  const why = `${which} has secrets in plain text, which the admin API does not show: name them by { env: NAME }`
  throw new CommandError(`generation ${number} at ${api.origin} cannot be read: ${why}`, EXIT.failed)
}

async function serving(ask: (path: string) => Promise<unknown>): Promise<number | undefined> {
  const { data } = (await ask('/admin/generations')) as { readonly data: readonly Served[] }
  return data.find(one => one.serving)?.number
}
