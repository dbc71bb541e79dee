import { camelName } from '../codecs/native-casing.js'
import type { Codec } from '../core/codec.js'

/**
 * Which members of a body a protocol's requests can have, by the codec's own table; undefined where it has none. Others
 * are left out in any case, so that there is no need to make objects of them.
 */
export function knownMembers(codec: Codec): ((name: string) => boolean) | undefined {
  if (codec.operation === 'count') return undefined
  const found = KNOWN.get(codec)
  if (found !== undefined) return found
  const names = new Set(Object.keys(codec.server.fields).map(path => path.split(/[.[]/, 1)[0]))
  const isKnown = (name: string): boolean => names.has(name) || names.has(camelName(name))
  KNOWN.set(codec, isKnown)
  return isKnown
}

const KNOWN = new WeakMap<Codec, (name: string) => boolean>()
