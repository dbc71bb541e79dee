import { basename } from 'node:path'
import type { EgressConfig, PoolBounds, ProxyServer } from '../../core/egress.js'
import { duration } from './format.js'

export interface EgressFacts {
  /** How connections leave, where the file says something: one line each, without a secret. */
  readonly egress?: readonly string[]
}

export function egressFacts(config: EgressConfig | undefined): EgressFacts {
  if (config === undefined) return {}
  const { http2, pool } = config
  const lines = [
    ...proxyLines(config),
    ...tlsLines(config),
    ...(http2 === true ? ['HTTP/2 if the upstream offers it'] : []),
    ...poolLines(pool),
  ]
  return lines.length === 0 ? {} : { egress: lines }
}

function proxyLines({ proxy }: EgressConfig): readonly string[] {
  if (proxy === undefined) return []
  const { https, http, except, isFromEnvironment } = proxy
  const but = except.length === 0 ? '' : `, but for ${except.join(' ')}`
  if (!isFromEnvironment) return https === undefined ? [] : [`proxy ${shown(https)}${but}`]
  const ways = [
    ...(https === undefined ? [] : [`https by ${shown(https)}`]),
    ...(http === undefined ? [] : [`http by ${shown(http)}`]),
  ]
  return [`proxy of the environment: ${ways.join(', ') || 'none'}${ways.length === 0 ? '' : but}`]
}

function shown({ origin, user, password }: ProxyServer): string {
  const login = user === undefined ? '' : `${encodeURIComponent(user)}${password === undefined ? '' : ':***'}@`
  return origin.replace('://', `://${login}`)
}

function tlsLines({ tls }: EgressConfig): readonly string[] {
  if (tls === undefined) return []
  const { ca, certificate, minVersion, serverName } = tls
  const said = [
    ...(ca === undefined ? [] : [`authorities ${basename(ca.path)}`]),
    ...(certificate === undefined ? [] : [`certificate ${basename(certificate.path)}`]),
    ...(minVersion === undefined ? [] : [`at least ${minVersion.replace('v', ' ')}`]),
    ...(serverName === undefined ? [] : [`name ${serverName}`]),
  ]
  return [`TLS: ${said.join(', ')}`]
}

function poolLines({ connections, queue, idle, age, tcpKeepAlive }: PoolBounds): readonly string[] {
  const said = [
    ...(connections === undefined ? [] : [`connections ${connections}`]),
    ...(queue === undefined ? [] : [`queue ${queue}`]),
    ...(idle === undefined ? [] : [`idle ${duration(idle)}`]),
    ...(age === undefined ? [] : [`age ${duration(age)}`]),
    ...(tcpKeepAlive === undefined ? [] : [`TCP keep-alive ${duration(tcpKeepAlive)}`]),
  ]
  return said.length === 0 ? [] : [`pool: ${said.join(', ')}`]
}
