import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { atMost } from '../../core/at-most.js'
import type { UpstreamConfig } from '../../core/config.js'
import { inspect, type Shown, type ShownTls } from '../../net/inspect.js'
import { hostOf, proxyFor } from '../../net/proxy.js'
import { clockOf } from './clock.js'
import { type Check, fault, ok, type Patient, type Result, reasonOf, skipped, warning } from './result.js'

const DAY_MS = 86_400_000
/** A certificate that ends sooner is worth a word. */
const SOON_DAYS = 14
/** Upstreams that are asked at the same time. */
const AT_ONCE = 8

/** Names, connections and certificates of the upstreams, and what the clocks of their servers say. */
export const checkUpstreams: Check = async patient => {
  const all = Object.entries(patient.config.upstreams).filter(
    ([, { off, base }]) => off === undefined && /^https?:/.test(base),
  )
  if (patient.options.offline === true) return [skipped('connection', 'upstreams', 'not asked (--offline)')]
  const results: Result[] = []
  const skews: number[] = []
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const asked = all.slice(at, at + AT_ONCE).map(([name, config]) => examine(name, config, patient))
    for (const { found, skew } of await Promise.all(asked)) {
      results.push(...found)
      if (skew !== undefined) skews.push(skew)
    }
  }
  return [...results, clockOf(skews)]
}

interface Examined {
  readonly found: readonly Result[]
  /** How far its clock is ahead of ours, milliseconds. */
  readonly skew?: number
}

async function examine(name: string, config: UpstreamConfig, { options }: Patient): Promise<Examined> {
  const url = new URL(config.base)
  const proxy = proxyFor(config.egress?.proxy, url)
  const named = proxy === undefined ? await resolve(name, hostOf(url), options.timeoutMs) : []
  if (named.some(({ state }) => state === 'fault')) return { found: named }
  const way = proxy === undefined ? '' : ` through the proxy ${proxy.origin}`
  try {
    const begun = Date.now()
    const shown = await inspect(url, config.egress, options.timeoutMs)
    const connected = ok('connection', name, `${url.host} answers${way}`)
    const skew = skewOf(shown, begun)
    const secured = shown.tls === undefined ? [] : [certificate(name, url.host, shown.tls)]
    return { found: [...named, connected, ...secured], ...(skew === undefined ? {} : { skew }) }
  } catch (error) {
    const isPlain = /wrong version number/.test(reasonOf(error))
    const advice = isPlain
      ? 'The server speaks http, it seems: write http:// in `base`.'
      : proxy === undefined
        ? 'Look whether a firewall, or a missing `proxy`, is on the way, and whether the server runs.'
        : 'Look whether the proxy runs, and whether it lets connections to this host pass.'
    return {
      found: [
        ...named,
        fault('connection', name, `${url.host}${way}: ${isPlain ? 'no TLS there' : reasonOf(error)}`, advice),
      ],
    }
  }
}

async function resolve(name: string, host: string, timeoutMs: number): Promise<readonly Result[]> {
  if (isIP(host) !== 0) return []
  if (host.endsWith('.invalid'))
    return [fault('dns', name, `${host} is a placeholder`, 'Write the address of your server as `base`.')]
  const found = await atMost(timeoutMs, lookup(host, { all: true })).catch(reasonOf)
  if (found !== undefined && typeof found !== 'string')
    return [ok('dns', name, `${host} is ${found.map(({ address }) => address).join(', ')}`)]
  const advice = 'Correct `base`, or the name server of this machine (/etc/resolv.conf, or the cluster’s DNS).'
  return [fault('dns', name, `${host} cannot be resolved: ${found ?? 'no answer in time'}`, advice)]
}

function certificate(name: string, host: string, { version, fault: why, chain }: ShownTls): Result {
  const [own] = chain
  const ending = chain.reduce(
    (first, one) => (one.to < first.to ? one : first),
    own ?? { to: Number.POSITIVE_INFINITY, subject: host },
  )
  const days = Math.floor((ending.to - Date.now()) / DAY_MS)
  if (why !== undefined)
    return fault(
      'tls',
      name,
      `${faultWords(why)}${own === undefined ? '' : ` (${own.subject}, issued by ${own.issuer}, until ${day(own.to)})`}`,
      tlsAdvice(why),
    )
  const facts = `${version}, ${chain.map(({ subject }) => subject).join(' < ')}, until ${day(ending.to)}`
  if (days < SOON_DAYS)
    return warning(
      'tls',
      name,
      `the certificate of ${ending.subject} ends in ${days} days: ${facts}`,
      'Tell who runs the server to renew it.',
    )
  return ok('tls', name, facts)
}

function faultWords(code: string): string {
  return FAULTS[code]?.[0] ?? code
}

function tlsAdvice(code: string): string {
  if (code.startsWith('ERR_TLS_CERT_ALTNAME') || code.includes('altnames'))
    return 'Take the name in `base` that the certificate has, or write `tls: { server_name: NAME }`.'
  return FAULTS[code]?.[1] ?? 'Look at the certificate with openssl s_client -connect HOST:443 -showcerts.'
}

const OWN_AUTHORITY = 'If the server is your own, write its authority: tls: { ca: ca.pem } at the upstream.'
const FAULTS: Readonly<Record<string, readonly [string, string]>> = {
  CERT_HAS_EXPIRED: [
    'a certificate has expired',
    'Renew it at the server. If it is still valid, set the clock of this machine.',
  ],
  CERT_NOT_YET_VALID: ['a certificate is not valid yet', 'Set the clock of this machine, or wait.'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['the certificate is signed by itself', OWN_AUTHORITY],
  SELF_SIGNED_CERT_IN_CHAIN: ['the authority is not one that this machine trusts', OWN_AUTHORITY],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['the authority is not one that this machine trusts', OWN_AUTHORITY],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'the server does not send the certificates between its own and the authority’s',
    'Let the server send its whole chain, or write the missing one: tls: { ca: chain.pem } at the upstream.',
  ],
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** A `Date` has whole seconds, and the answer took its time: half of it is taken off. */
function skewOf({ date }: Shown, begun: number): number | undefined {
  return date === undefined ? undefined : date + 500 - (begun + Date.now()) / 2
}
