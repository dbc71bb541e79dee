import { codecOf, countedBy } from '../../codecs/index.js'
import type { Codec } from '../../core/codec.js'
import type { Carry, FieldMapping } from '../../core/fields.js'

export const NO_LOSS: ReadonlySet<string> = new Set()

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

/** The same by the names of protocols; an empty one: the request is passed on. */
export function lossesTo(server: string, client: string): ReadonlySet<string> {
  const [from, to] = [codecOf(server), codecOf(client)]
  return from === undefined || to === undefined || from === to ? NO_LOSS : lossesBetween(from, to)
}

const SINCE = new WeakMap<ReadonlySet<string>, Map<ReadonlySet<string>, readonly string[]>>()

/** What is lost now and was not before. Both are sets of the functions above. */
export function lostSince(before: ReadonlySet<string>, now: ReadonlySet<string>): readonly string[] {
  const known = SINCE.get(before) ?? new Map<ReadonlySet<string>, readonly string[]>()
  SINCE.set(before, known)
  const lost = known.get(now) ?? [...now].filter(member => !before.has(member))
  known.set(now, lost)
  return lost
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
