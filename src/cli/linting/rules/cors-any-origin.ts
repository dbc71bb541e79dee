import type { Rule } from '../rule.js'

export const corsAnyOrigin: Rule = {
  id: 'cors-any-origin',
  severity: 'warning',
  finds: '`listen.cors.origins` has `*`',
  why: 'Any web page may use a key that it has come by, from the browsers of its visitors.',
  mend: 'List the origins of your own pages.',
  *check({ config: { listen } }) {
    const at = listen.cors?.origins.indexOf('*') ?? -1
    if (at >= 0)
      yield { path: ['listen', 'cors', 'origins', at], message: 'pages of every origin may call the gateway' }
  },
}
