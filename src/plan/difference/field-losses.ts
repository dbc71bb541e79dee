import { countedBy } from '../../codecs/index.js'
import type { Codec } from '../../core/codec.js'
import type { Carry, FieldMapping } from '../../core/fields.js'

const KNOWN = new Map<Codec, Map<Codec, ReadonlySet<string>>>()

/**
 * Members that clients of one protocol may send and another one cannot be given, by their own names (`messages[].name`), as
 * the codecs' tables have it. What a table leaves to the request that arrives is not among them.
 */
export function lossesBetween(server: Codec, client: Codec): ReadonlySet<string> {
  const made = KNOWN.get(server) ?? new Map<Codec, ReadonlySet<string>>()
  KNOWN.set(server, made)
  const known = made.get(client) ?? new Set(lostMembers(fieldsOf(server), carriesOf(client)))
  made.set(client, known)
  return known
}

function lostMembers(
  fields: Readonly<Record<string, FieldMapping<string>>>,
  carries: Readonly<Record<string, Carry>>,
): readonly string[] {
  const isLost = (field: string): boolean => {
    const carry = carries[field]
    return typeof carry === 'object' && !('approximated' in carry)
  }
  return Object.entries(fields).flatMap(([member, held]) => {
    if (typeof held === 'string') return isLost(held) ? [member] : []
    if ('here' in held) return []
    if ('left' in held) return [member]
    return (held as readonly string[]).every(isLost) ? [member] : []
  })
}

function fieldsOf(codec: Codec): Readonly<Record<string, FieldMapping<string>>> {
  if (codec.operation === 'count') return countedBy(codec).server.fields
  return codec.server.fields
}

/** A request that is only counted loses nothing that its answer would show. */
function carriesOf(codec: Codec): Readonly<Record<string, Carry>> {
  return codec.operation === 'count' ? {} : codec.client.carries
}
