import { isPublicHost } from '../hosts.js'
import type { Rule } from '../rule.js'

export const httpToPublicAddress: Rule = {
  id: 'http-to-public-address',
  severity: 'error',
  finds: 'an upstream whose address is `http://` and public',
  why: 'The credential and all that users write pass the Internet unencrypted, for anyone on the way to read and change.',
  mend: 'Write `https://`. For a server of your own without TLS, use a private address or a tunnel.',
  *check({ config: { upstreams } }) {
    for (const [name, { base, off }] of Object.entries(upstreams)) {
      if (off !== undefined || !base.startsWith('http:') || !URL.canParse(base)) continue
      const { hostname } = new URL(base)
      if (!isPublicHost(hostname)) continue
      const message = `the upstream ${JSON.stringify(name)} sends its credential and all texts to ${hostname} without TLS`
      yield { path: ['upstreams', name], message }
    }
  },
}
