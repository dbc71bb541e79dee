import type { ModuleWarning } from '../core/user-module.js'
import { type Outside, setVariables } from '../credentials/oauth2.js'
import { openSigner } from '../credentials/open-signer.js'
import type { Places } from '../kernel/generation.js'
import type { Log } from '../sinks/log.js'
import type { Embedded } from './embedded.js'

/** Longest time for one request to a token server, milliseconds. */
const MAX_TOKEN_MS = 10_000
/** Of the time for a connection: that an upstream has no credential is known before its own time is over. */
const CONNECT_SHARE = 0.8

/** What is known of upstreams when a plan goes live. The log has what modules for credentials say. */
export function placesOf({ origin, headers }: Embedded, env: Outside['env'], log?: Pick<Log, 'warn'>): Places {
  const set = setVariables(env)
  const warn: ModuleWarning = (module, cause) => log?.warn({ module, cause }, 'a module warns')
  return {
    origin,
    headers,
    signing({ source, connect }, at, egress) {
      if (source === undefined) return undefined
      const outside = { timeoutMs: Math.min(MAX_TOKEN_MS, connect * CONNECT_SHARE), egress, env: set }
      return { digest: source.digest, open: () => openSigner(source.of, source.place, at, outside, warn) }
    },
  }
}
