import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import type { RedisSettings } from '../core/store-config.js'
import { errorWord } from './redis-answers.js'

/** Time-out of opening, milliseconds. */
export const OPEN_TIMEOUT_MS = 5000
/** Time after which a silent sentinel or cluster node loses its connection, milliseconds. */
const SILENCE_TIMEOUT_MS = 1000

/**
 * A client that is not connected yet. Nothing is queued without a connection, and nothing is sent twice: the caller
 * decides. Until `opened` returns true, a failed attempt is not repeated. `renew` decides whether to renew the
 * connection to a server that became a replica: the next connection finds the new primary.
 */
export function redisClient(settings: RedisSettings, opened: () => boolean, renew: () => boolean): Redis | Cluster {
  const { mode, nodes, group, username, password, sentinelPassword, database, tls, timeout } = settings
  const common = {
    lazyConnect: true,
    protocol: 2,
    enableReadyCheck: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: OPEN_TIMEOUT_MS,
    disableClientInfo: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password: password.reveal() }),
    ...(tls !== undefined && { tls: tls.ca === undefined ? {} : { ca: tls.ca } }),
  } as const satisfies RedisOptions
  const again = (times: number): number | null => (opened() ? backOff(times) : null)
  if (mode === 'cluster') {
    const options = {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRedirections: 4,
      clusterRetryStrategy: again,
      redisOptions: { ...common, socketTimeout: Math.max(SILENCE_TIMEOUT_MS, 2 * timeout) },
      slotsRefreshTimeout: OPEN_TIMEOUT_MS,
      // Certificates are for names: the library would look them up, and connect to addresses.
      ...(tls !== undefined && { dnsLookup: (name, done) => done(null, name) }),
    } satisfies ClusterOptions
    return new Cluster([...nodes], options)
  }
  const single = {
    ...common,
    db: database,
    enableOfflineQueue: false,
    retryStrategy: again,
    reconnectOnError: (error: Error) => errorWord(error.message) === 'READONLY' && renew(),
  } satisfies RedisOptions
  if (mode === 'single')
    return new Redis({ ...single, host: nodes[0]?.host ?? 'localhost', port: nodes[0]?.port ?? 6379 })
  return new Redis({
    ...single,
    sentinels: [...nodes],
    name: group ?? 'mymaster',
    sentinelRetryStrategy: again,
    sentinelCommandTimeout: SILENCE_TIMEOUT_MS,
    ...(tls !== undefined && {
      enableTLSForSentinelMode: true,
      sentinelTLS: tls.ca === undefined ? {} : { ca: tls.ca },
    }),
    ...(sentinelPassword !== undefined && { sentinelPassword: sentinelPassword.reveal() }),
  })
}

/** Milliseconds, at most 750: a server that is back is found within a second, and not by all at once. */
function backOff(times: number): number {
  return Math.min(25 * 2 ** times, 500) * (0.5 + Math.random())
}
