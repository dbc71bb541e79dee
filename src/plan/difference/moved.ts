import { type CallerRules, type GroupConfig, groupsOf } from '../../core/accounting-config.js'
import type { KeyConfig } from '../../core/config.js'
import type { Side } from './change.js'
import { keyWords } from './key-words.js'
import { isWeaker } from './weaker.js'

/** What orders keys and groups, and bounds nothing. */
const ORDERS: ReadonlySet<string> = new Set(['group', 'priority'])
/** What an entry may say itself in place of its group: a bound of its own is shared with no one. */
const OWN: ReadonlySet<string> = new Set(['models', 'routes', 'networks', 'regions'])

/** A key or group of a side. */
type Member = readonly [KeyConfig | GroupConfig, Side]

/** Whether a key or group is in another group now, and is held by less: no group of now says as strictly what one before said. */
export function isMovedToLaxer([was, before]: Member, [is, after]: Member): boolean {
  if (was.group === undefined || is.group === undefined || was.group === is.group) return false
  const [theirs, ours] = [wordsOfGroups(was, before), wordsOfGroups(is, after)]
  const own = [...keyWords(is)].filter(([what]) => OWN.has(what))
  const held = [...ours, ...own]
  return theirs.some(
    ([what, text]) =>
      isWeaker(what, text, undefined) && !held.some(([word, now]) => word === what && !isWeaker(what, text, now)),
  )
}

function wordsOfGroups(entry: CallerRules, { config }: Side): readonly (readonly [string, string])[] {
  return groupsOf(entry, config.groups).flatMap(([, group]) =>
    [...keyWords(group)].filter(([what]) => !ORDERS.has(what)),
  )
}
