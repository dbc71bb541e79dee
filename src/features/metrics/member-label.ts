import { codecOf } from '../../codecs/index.js'

/** Of the names of members that clients choose, and of protocols that have no table of members. */
const OTHER = 'other'

/**
 * The label of a member that translation dropped: `messages[3].name` is `messages[].name`. Only names of the protocol's own
 * table become labels; of others the longest beginning that is in the table, or `other`.
 */
export function memberLabel(protocol: string, name: string): string {
  const codec = codecOf(protocol)
  const fields = codec !== undefined && 'fields' in codec.server ? codec.server.fields : {}
  let path = name.replace(/\[\d+\]/g, '[]')
  for (;;) {
    const bare = path.replace(/\[\]$/, '')
    if (Object.hasOwn(fields, bare)) return bare
    const end = path.lastIndexOf('.')
    if (end < 0) return OTHER
    path = path.slice(0, end)
  }
}
