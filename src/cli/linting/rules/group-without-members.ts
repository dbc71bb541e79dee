import { saidOfTokens } from '../callers.js'
import type { Rule } from '../rule.js'

export const groupWithoutMembers: Rule = {
  id: 'group-without-members',
  severity: 'warning',
  finds: 'a group that no key, no other group and no token belongs to',
  why: 'Its limits and models hold for no one. Often a key lost its `group`, and with it its budget. Keys of the store are not looked at.',
  mend: 'Write `group: NAME` at the keys that belong to it, or delete the group.',
  *check({ config }) {
    const tokens = saidOfTokens(config, 'group')
    if (tokens === undefined) return
    const used = new Set([...Object.values(config.keys), ...Object.values(config.groups)].map(({ group }) => group))
    for (const name of Object.keys(config.groups)) {
      if (used.has(name) || tokens.includes(name)) continue
      yield { path: ['groups', name], message: `no key belongs to the group ${JSON.stringify(name)}` }
    }
  },
}
