import { isLoopback } from '../hosts.js'
import type { Rule } from '../rule.js'

export const listenerWithoutTls: Rule = {
  id: 'listener-without-tls',
  severity: 'note',
  finds: '`listen.host` is not this machine alone, and there is no `listen.tls`',
  why: 'Keys and texts pass the network unencrypted, unless something in front of the gateway has TLS.',
  mend: 'Write `listen.tls`, or listen on 127.0.0.1 behind a proxy. In a container, switch the rule off with a comment.',
  *check({ config: { listen } }) {
    if (isLoopback(listen.host) || listen.tls !== undefined) return
    yield { path: ['listen', 'host'], message: `clients reach ${listen.host} without TLS` }
  },
}
