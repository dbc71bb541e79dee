import { createSecureContext } from 'node:tls'
import type { ClientTls, EgressConfig, PoolBounds, ProxyRules } from '../core/egress.js'
import { readAuthorities, readPair } from './certificates.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { readProxy } from './proxy.js'
import type { RawClientTls, RawPool, RawUpstream } from './raw.generated.js'
import { readDuration } from './settings.js'

type Written = Pick<RawUpstream, 'proxy' | 'tls' | 'http2' | 'pool'>

/** What `egress` says for all upstreams, and what an upstream says beside it. */
export interface ReadEgress {
  readonly proxy?: ProxyRules | 'off'
  readonly tls?: ClientTls
  readonly http2?: true
  readonly pool: PoolBounds
}

/** How connections leave; `site` is the upstream, or the section for all of them. */
export function readEgress(written: Written, site: Site, context: Context): ReadEgress {
  const { proxy: way, tls: secure, http2, pool } = written
  const proxy =
    way === undefined
      ? undefined
      : readProxy(interpolate(way, site.child('proxy'), context), way, site.child('proxy'), context)
  const tls = secure && readTls(interpolate(secure, site.child('tls'), context), site.child('tls'), context)
  return {
    ...(proxy === undefined ? {} : { proxy }),
    ...(tls === undefined ? {} : { tls }),
    ...(http2 === true ? { http2 } : {}),
    pool: pool === undefined ? {} : readPool(pool, site.child('pool'), context),
  }
}

/** How connections to an upstream leave; nothing for the simulator inside, which no network leads to. */
export function upstreamEgress(
  raw: Written,
  base: string,
  all: ReadEgress,
  site: Site,
  context: Context,
): { readonly egress?: EgressConfig } {
  if (base.startsWith('embedded:')) return {}
  if (raw.http2 === true && base.startsWith('http:')) {
    const message = 'HTTP/2 needs TLS: an http address is spoken to in HTTP/1.1'
    context.report.warn('http2-without-tls', site.child('http2'), message)
  }
  const egress = mergeEgress(all, readEgress(raw, site, context))
  return egress === undefined ? {} : { egress }
}

/** How connections leave that belong to no upstream. */
export function egressOfNone(all: ReadEgress): { readonly egress?: EgressConfig } {
  const egress = mergeEgress(all, { pool: {} })
  return egress === undefined ? {} : { egress }
}

/** The upstream's own words over those for all. Absent where neither says anything. */
function mergeEgress(all: ReadEgress, own: ReadEgress): EgressConfig | undefined {
  const proxy = own.proxy ?? all.proxy
  const tls = all.tls === undefined && own.tls === undefined ? undefined : { ...all.tls, ...own.tls }
  const pool = { ...all.pool, ...own.pool }
  if ((proxy ?? 'off') === 'off' && tls === undefined && own.http2 === undefined && Object.keys(pool).length === 0) {
    return undefined
  }
  return {
    ...(proxy === undefined || proxy === 'off' ? {} : { proxy }),
    ...(tls === undefined ? {} : { tls }),
    ...(own.http2 === undefined ? {} : { http2: own.http2 }),
    pool,
  }
}

const BOTH = [
  ['certificate', 'key', 'the private key of the certificate'],
  ['key', 'certificate', 'what the key belongs to'],
] as const

/** Authorities, and the certificate with its key. */
export function readTls(raw: RawClientTls, site: Site, context: Context): ClientTls {
  const { certificate, key, ca, min_version, server_name } = raw
  for (const [one, other, what] of BOTH) {
    if (raw[one] === undefined || raw[other] !== undefined) continue
    context.report.error('missing-key', site, `"${other}" is missing here: ${what}`, { on: 'key' })
  }
  const authorities = ca === undefined ? undefined : readAuthorities(ca, site.child('ca'), context)
  const pair =
    certificate === undefined || key === undefined
      ? undefined
      : readPair([certificate, site.child('certificate')], [key, site.child('key')], context)
  if (pair !== undefined) checkUsable(pair, site, context)
  return {
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...pair,
    ...(min_version === undefined ? {} : { minVersion: min_version === 1.3 ? 'TLSv1.3' : 'TLSv1.2' }),
    ...(server_name === undefined ? {} : { serverName: server_name }),
  }
}

/** What OpenSSL does not take is reported now, not at the first connection: keys that are too short, for example. */
function checkUsable(
  { certificate, key }: Required<Pick<ClientTls, 'certificate' | 'key'>>,
  site: Site,
  { report }: Context,
): void {
  try {
    createSecureContext({ cert: certificate.content.reveal(), key: key.content.reveal() })
  } catch (error) {
    const { reason } = error as { readonly reason?: string }
    report.error(
      'bad-certificate',
      site.child('certificate'),
      `OpenSSL does not take it: ${reason ?? 'it is not valid'}`,
    )
  }
}

function readPool({ connections, queue, ...durations }: RawPool, site: Site, context: Context): PoolBounds {
  const read = <K extends keyof PoolBounds>(
    name: K,
    word: keyof typeof durations,
  ): { readonly [name in K]?: number } => {
    const text = durations[word]
    return text === undefined
      ? {}
      : ({ [name]: readDuration(text, site.child(word), context) } as { readonly [name in K]?: number })
  }
  return {
    ...(connections === undefined ? {} : { connections }),
    ...(queue === undefined ? {} : { queue }),
    ...read('idle', 'idle'),
    ...read('age', 'age'),
    ...read('tcpKeepAlive', 'tcp_keep_alive'),
  }
}
