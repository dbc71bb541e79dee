import type { Config } from '../../core/config.js'

/**
 * A configuration for a worker that begins later than the gateway: what only a restart changes is as in the others, since
 * workers with different stores or addresses would not be one gateway. Certificates and what
 * is live of the admin listener are the new ones.
 */
export function withStartSettings(config: Config, first: Config): Config {
  const { host, port, backlog, tls } = first.listen
  const { listen, admin, ...rest } = config
  const { tls: newTls, ...newListen } = listen
  const usedTls = tls !== undefined && newTls !== undefined ? newTls : tls
  return {
    ...rest,
    listen: { ...newListen, host, port, backlog, ...(usedTls === undefined ? {} : { tls: usedTls }) },
    store: first.store,
    spool: first.spool,
    transport: first.transport,
    ...(first.admin === undefined ? {} : { admin: withLive(first.admin, admin) }),
  }
}

type Admin = NonNullable<Config['admin']>

/** The words that are live are those of `needs-restart.ts`; what the file no longer has is gone. Without the section, the key stays. */
function withLive(
  { secret: firstSecret, metrics: _metrics, oidc: _oidc, ...fixed }: Admin,
  now: Admin | undefined,
): Admin {
  const secret = now === undefined ? firstSecret : now.secret
  const { write = false, metrics, oidc } = now ?? {}
  return {
    ...fixed,
    write,
    ...(secret === undefined ? {} : { secret }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(oidc === undefined ? {} : { oidc }),
  }
}
