import { numbered } from '../../../core/numbered.js'
import type { Rule } from '../rule.js'

const DAY_MS = 86_400_000
const SOON_DAYS = 14

export const keyExpiresSoon: Rule = {
  id: 'key-expires-soon',
  severity: 'note',
  finds: `a key that expires within ${SOON_DAYS} days`,
  why: 'Its callers get 401 from that moment on.',
  mend: 'Give its callers a new key before then, or move the date.',
  *check({ config, now }) {
    for (const [name, { expires, disabled }] of Object.entries(config.keys)) {
      if (disabled || expires === undefined || expires <= now) continue
      const days = Math.floor((expires - now) / DAY_MS)
      if (days > SOON_DAYS) continue
      const when = days === 0 ? 'within a day' : `in ${numbered(days, 'day')}`
      yield { path: ['keys', name, 'expires'], message: `the key ${JSON.stringify(name)} expires ${when}` }
    }
  },
}
