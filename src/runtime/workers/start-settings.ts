import type { Config } from '../../core/config.js'

/**
 * A configuration for a worker that begins later than the gateway: what only a restart changes is as in the others, since
 * workers with different stores or addresses would not be one gateway. Certificates, the admin key and
 * what `/metrics` shows are the new ones.
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
    ...(first.admin === undefined ? {} : { admin: { ...fixedOf(first.admin), ...changingOf(admin) } }),
  }
}

type Admin = NonNullable<Config['admin']>

function fixedOf({ metrics: _, ...fixed }: Admin): Omit<Admin, 'metrics'> {
  return fixed
}

function changingOf({ secret, metrics }: Partial<Admin> = {}): Pick<Admin, 'secret' | 'metrics'> {
  return { ...(secret === undefined ? {} : { secret }), ...(metrics === undefined ? {} : { metrics }) }
}
