import type { Rule } from '../rule.js'

export const keyNeverExpires: Rule = {
  id: 'key-never-expires',
  severity: 'note',
  finds: 'a key without `expires`',
  why: 'A key that leaks and is not noticed works for ever. With a date, it has to be renewed, and forgotten keys end.',
  mend: 'Write `expires: 2027-06-30`; `gateway keys new` makes its successor, and both may be valid for a while.',
  *check({ config }) {
    for (const [name, { expires, disabled }] of Object.entries(config.keys)) {
      if (expires !== undefined || disabled) continue
      yield { path: ['keys', name], message: `the key ${JSON.stringify(name)} never expires` }
    }
  },
}
