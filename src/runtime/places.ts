import type { Outside } from '../credentials/oauth2.js'
import { openSigner } from '../credentials/open-signer.js'
import type { Places } from '../kernel/generation.js'
import type { Embedded } from './embedded.js'

/** Longest time for one request to a token server, milliseconds. */
const MAX_TOKEN_MS = 10_000
/** Of the time for a connection: that an upstream has no credential is known before its own time is over. */
const CONNECT_SHARE = 0.8

/** What is known of upstreams when a plan goes live. */
export function placesOf({ origin, headers }: Embedded, env: Outside['env']): Places {
  return {
    origin,
    headers,
    signing({ source, connect }, at, egress) {
      if (source === undefined) return undefined
      const outside = { timeoutMs: Math.min(MAX_TOKEN_MS, connect * CONNECT_SHARE), egress, env }
      return { digest: source.digest, open: () => openSigner(source.of, source.place, at, outside) }
    },
  }
}
