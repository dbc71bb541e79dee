import { badArgument } from '../../families/native.js'
import { isObject, parseJson } from '../../json.js'
import { partsOf } from '../../multipart.js'
import type { Call } from '../../protocol.js'
import type { StoredFile } from '../../storage.js'

/** A file with its metadata before it, as `multipart/related`. */
export function readRelated({ bytes, headers }: Call): Pick<StoredFile, 'name' | 'type' | 'bytes'> {
  const [metadata, file] = partsOf(bytes, headers['content-type'], 'related') ?? []
  if (metadata === undefined || file === undefined) throw badArgument('The upload has to have two parts.')
  const said = parseJson(metadata.bytes.toString('utf8'))
  const asked = isObject(said) && isObject(said.file) ? said.file : {}
  const name = asked.displayName ?? asked.display_name
  return {
    name: typeof name === 'string' ? name : '',
    type: file.type ?? 'application/octet-stream',
    bytes: Buffer.from(file.bytes),
  }
}
