import { groupsOf } from '../../../core/accounting-config.js'
import type { Rule } from '../rule.js'

export const keyWithoutLimits: Rule = {
  id: 'key-without-limits',
  severity: 'note',
  finds: 'a key for which nothing is limited: not by itself, not by a group',
  why: 'A loop in one program, or a leaked key, may spend all that the providers allow.',
  mend: 'Write `limits: { budget: 50 USD/month }` or `limits: { requests: 600/minute }` at the key or a group of it.',
  *check({ config: { keys, groups } }) {
    for (const [name, key] of Object.entries(keys)) {
      const chain = groupsOf(key, groups).map(([, group]) => group)
      if (key.disabled || [key, ...chain].some(({ limits }) => limits !== undefined)) continue
      yield { path: ['keys', name], message: `nothing limits what the key ${JSON.stringify(name)} may use` }
    }
  },
}
