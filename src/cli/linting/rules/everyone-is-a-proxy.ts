import type { Rule } from '../rule.js'

export const everyoneIsAProxy: Rule = {
  id: 'everyone-is-a-proxy',
  severity: 'error',
  finds: '`listen.trusted_proxies` holds every address',
  why: 'Clients write their own address: `networks` of keys mean nothing, and logs show any address that they choose.',
  mend: 'List the networks of your own proxies.',
  *check({ config: { listen } }) {
    for (const [index, network] of (listen.trusted_proxies ?? []).entries()) {
      if (!/\/0$/.test(network)) continue
      yield { path: ['listen', 'trusted_proxies', index], message: `${network} is every client, and not your proxies` }
    }
  },
}
