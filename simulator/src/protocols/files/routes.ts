import type { BoundedMap } from '../../bounded-map.js'
import type { SimulatorError } from '../../errors.js'
import { type Call, endpoint, json, type Protocol } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'
import { content } from './form.js'

/** What differs between the protocols that keep files. */
interface FileProtocol extends Pick<Protocol, 'family' | 'serves'> {
  /** Where files are listed, and below which each has its own path. */
  readonly path: string
  /** What is added to a file's path for its bytes. */
  readonly download: string
  readonly kept: (call: Call) => BoundedMap<StoredFile>
  readonly object: (file: StoredFile, call: Call) => object
  /** The list of files, newest first. */
  readonly list: (
    objects: readonly object[],
    ids: { readonly first_id: string | null; readonly last_id: string | null },
  ) => object
  readonly deleted: (id: string) => object
  readonly unknown: (id: string) => SimulatorError
  /** The media type of the bytes; the file's own if nothing is said. */
  readonly type?: string
}

/** The routes that list, download, show and delete files. */
export function fileRoutes(files: FileProtocol): readonly Protocol[] {
  const { path, family, serves, kept, object, list, deleted } = files
  const options = serves === undefined ? {} : { serves }
  const known = (call: Call): StoredFile => {
    const file = kept(call).get(call.parameter)
    if (file === undefined) throw files.unknown(call.parameter.slice(0, 200))
    return file
  }
  return [
    endpoint(family, `GET ${path}`, options, call => {
      const all = kept(call)
        .entries()
        .map(([, file]) => file)
        .toReversed()
      const ids = { first_id: all[0]?.id ?? null, last_id: all.at(-1)?.id ?? null }
      const objects = all.map(file => object(file, call))
      return json(list(objects, ids))
    }),
    endpoint(family, `GET ${path}/{id}${files.download}`, options, call => {
      const { bytes, type } = known(call)
      return content(bytes, files.type ?? type, call.headers)
    }),
    endpoint(family, `GET ${path}/{id}`, options, call => json(object(known(call), call))),
    endpoint(family, `DELETE ${path}/{id}`, options, call => {
      const { id } = known(call)
      kept(call).drop(id)
      return json(deleted(id))
    }),
  ]
}
