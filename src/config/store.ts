import { resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import { Secret } from '../core/secret.js'
import type { Node, StoreConfig, Tls } from '../core/store-config.js'
import { warnOfValidity } from './certificates.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { RawSecret, RawStore } from './raw.generated.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'

type Kind = StoreConfig['type']

/** Which keys go with which types; `type` and `path` go with all of them. */
const KEYS: Readonly<Record<Exclude<keyof RawStore, 'type' | 'path'>, readonly Kind[]>> = {
  url: ['redis', 'postgres'],
  hosts: ['redis', 'postgres'],
  cluster: ['redis'],
  sentinel: ['redis'],
  sentinel_password: ['redis'],
  user: ['redis', 'postgres'],
  password: ['redis', 'postgres'],
  database: ['redis', 'postgres'],
  tls: ['redis', 'postgres'],
  prefix: ['redis'],
  schema: ['postgres'],
  pool: ['postgres'],
  timeout: ['redis', 'postgres'],
  wait: ['postgres'],
  options: ['module'],
}

// Defaults that depend on the type of the store; durations in milliseconds.
/** Short: serving without a store that is gone beats waiting for it. */
const REDIS = { prefix: 'gateway', timeout: 50 } as const
const POSTGRES = { database: 'gateway', schema: 'gateway', pool: 10, timeout: 5000, wait: 1000 } as const

/** Largest file of certificates. */
const MAX_CA_BYTES = 1024 * 1024

/** What a URL says; all of it is secret, since a password is in it. */
interface Address {
  readonly nodes: readonly Node[]
  readonly user?: string
  readonly password?: Secret
  readonly database?: string
  readonly tls: boolean
}

/** Where the gateway stores everything that outlives a request. An absent secret is reported when the store is opened. */
export function readStore(written: RawStore, site: Site, context: Context): StoreConfig {
  const raw = interpolate(written, site, context)
  const folder = site.document.source.folder
  const path = resolve(folder, raw.path ?? DEFAULTS.store.path)
  const type = kindOf(raw.type ?? DEFAULTS.store.type)
  if (type === undefined) {
    if (!context.report.unfilled.has(raw.type ?? '')) {
      context.report.error(
        'bad-value',
        site.child('type'),
        'this variable is neither a type of store nor ./a-module.js',
      )
    }
    return { type: DEFAULTS.store.type, path }
  }
  rejectUnknownKeys(raw, type, site, context)
  if (type === 'module') {
    const module = resolve(folder, raw.type ?? '')
    warnOfMissing(module, site.child('type'), context)
    return { type, path, module, options: raw.options ?? {} }
  }
  if (type === 'memory' || type === 'file') return { type, path }
  return readServer(raw, type, path, site, context)
}

/** A store on another machine. */
function readServer(
  raw: RawStore,
  type: 'redis' | 'postgres',
  path: string,
  site: Site,
  context: Context,
): StoreConfig {
  const absent: string[] = []
  const secret = (name: 'url' | 'password' | 'sentinel_password'): Secret | undefined =>
    secretOf(raw[name], site.child(name), context, absent)
  const url = secret('url')
  const [password, sentinelPassword] = [secret('password'), secret('sentinel_password')]
  const given = url && parseUrl(url, type, site.child('url'), context)
  if (raw.url === undefined && raw.hosts === undefined) {
    const message = `"hosts" is missing here (hosts: ["127.0.0.1:${PORTS[type]}"]), or "url"`
    context.report.error('missing-key', site, message, { on: 'key' })
  }
  const address = given ?? { nodes: readHosts(raw.hosts ?? [], PORTS[type], site.child('hosts'), context), tls: false }
  const tls = readTls(raw.tls ?? address.tls, site.child('tls'), context)
  const shared = {
    path,
    ...(absent.length > 0 && { absent: absent.join(', ') }),
    ...present('password', password ?? address.password),
    ...present('tls', tls),
  }
  const user = raw.user ?? address.user
  const timeout = raw.timeout === undefined ? undefined : readDuration(raw.timeout, site.child('timeout'), context)
  const database = raw.database ?? address.database
  if (type === 'redis') {
    return {
      type,
      ...shared,
      mode: modeOf(raw, site, context),
      nodes: address.nodes,
      ...present('group', raw.sentinel),
      ...present('username', user),
      ...present('sentinelPassword', sentinelPassword),
      database: numberOf(database, raw, site, context),
      prefix: raw.prefix ?? REDIS.prefix,
      timeout: timeout ?? REDIS.timeout,
    }
  }
  const [node = { host: '127.0.0.1', port: PORTS.postgres }, second] = address.nodes
  if (second !== undefined) context.report.error('bad-value', site.child('hosts'), 'type: postgres accepts one host')
  return {
    type,
    ...shared,
    ...node,
    database: String(database ?? POSTGRES.database),
    ...present('user', user),
    schema: raw.schema ?? POSTGRES.schema,
    pool: raw.pool ?? POSTGRES.pool,
    timeout: timeout ?? POSTGRES.timeout,
    wait: raw.wait === undefined ? POSTGRES.wait : readDuration(raw.wait, site.child('wait'), context),
  }
}

const PORTS = { redis: 6379, postgres: 5432 } as const

function kindOf(type: string): Kind | undefined {
  if (/^\.{0,2}\//.test(type)) return 'module'
  return (['memory', 'file', 'redis', 'postgres'] as const).find(name => name === type)
}

function rejectUnknownKeys(raw: RawStore, type: Kind, site: Site, { report }: Context): void {
  for (const [name, kinds] of Object.entries(KEYS)) {
    if (!(name in raw) || kinds.includes(type)) continue
    const fits = kinds.map(kind => (kind === 'module' ? 'a module of your own (type: ./store.js)' : `type: ${kind}`))
    report.error('unknown-key', site.child(name), `this is only for ${fits.join(' and ')}`, { on: 'key' })
  }
}

function modeOf(raw: RawStore, site: Site, { report }: Context): 'single' | 'sentinel' | 'cluster' {
  if (raw.cluster === true && raw.sentinel !== undefined) {
    report.error('bad-value', site.child('sentinel'), 'a cluster has no sentinels; remove cluster or sentinel')
  }
  const mode = raw.cluster === true ? 'cluster' : raw.sentinel === undefined ? 'single' : 'sentinel'
  if (mode === 'single' && (raw.hosts?.length ?? 1) > 1) {
    const message = 'several hosts need cluster: true (a cluster) or sentinel: NAME (sentinels)'
    report.error('bad-value', site.child('hosts'), message)
  }
  return mode
}

/** A warning, as for secrets: what is open already continues without its file. */
function warnOfMissing(module: string, site: Site, { files, report }: Context): void {
  const kind = files.kindOf(module)
  if (kind === 'file') return
  const what = kind === 'folder' ? 'this is a folder, not a file' : 'there is no such file'
  report.warn('missing-module', site, `${what}; the gateway cannot start without it`)
}

function secretOf(raw: RawSecret | undefined, site: Site, context: Context, absent: string[]): Secret | undefined {
  if (raw === undefined) return undefined
  const result = readSecret(raw, site, context)
  if (result === 'broken') return undefined
  if ('secret' in result) {
    if (result.assumed !== true) return result.secret
    // It has no address in it, and nothing connects with it.
    const place = raw.env ?? raw.file
    absent.push(
      place === undefined ? `${site.text} is in a secret manager and was not fetched` : `${place} is not here`,
    )
    return undefined
  }
  absent.push(result.absent)
  context.report.warn('absent-secret', site, `${result.absent}; the gateway cannot start without it`)
  return undefined
}

function parseUrl(secret: Secret, type: 'redis' | 'postgres', site: Site, { report }: Context): Address | undefined {
  const text = secret.reveal()
  const url = URL.canParse(text) ? new URL(text) : undefined
  const schemes = type === 'redis' ? ['redis:', 'rediss:'] : ['postgres:', 'postgresql:']
  if (url === undefined || !schemes.includes(url.protocol) || url.hostname === '') {
    report.error('bad-value', site, `the value is not a URL such as ${schemes[0]}//user:password@host/database`)
    return undefined
  }
  const parts = decoded([url.username, url.password, url.pathname.slice(1)])
  if (parts === undefined) {
    report.error('bad-value', site, 'the user, password or database is not URL-encoded: a percent sign is written %25')
    return undefined
  }
  const [user, password, database] = parts.map(part => (part === '' ? undefined : part))
  return {
    nodes: [{ host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || PORTS[type]) }],
    ...present('user', user),
    ...present('password', password === undefined ? undefined : new Secret(password)),
    ...present('database', database),
    tls: url.protocol === 'rediss:' || /^(require|verify)/.test(url.searchParams.get('sslmode') ?? ''),
  }
}

function decoded(parts: readonly string[]): readonly string[] | undefined {
  try {
    return parts.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function readHosts(hosts: readonly string[], standard: number, site: Site, { report }: Context): readonly Node[] {
  return hosts.map((text, index) => {
    const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]+))(?::(\d{1,5}))?$/.exec(text) ?? []
    const host = bracketed ?? plain
    if ((host === undefined || Number(port ?? 1) > 65_535) && !report.unfilled.has(text)) {
      report.error('bad-value', site.child(index), 'expected host:port, such as 127.0.0.1:6379 or [::1]:6379')
    }
    return { host: host ?? '127.0.0.1', port: Number(port ?? standard) }
  })
}

function readTls(raw: NonNullable<RawStore['tls']>, site: Site, context: Context): Tls | undefined {
  const { files, report } = context
  if (typeof raw === 'boolean') return raw ? {} : undefined
  if (raw.ca === undefined) return {}
  const result = files.read(resolve(site.document.source.folder, raw.ca), MAX_CA_BYTES)
  if ('bytes' in result) {
    const ca = result.bytes.toString('utf8')
    warnOfValidity(ca, site.child('ca'), context)
    return { ca }
  }
  report.error('unreadable-file', site.child('ca'), `cannot read this file: ${result.reason}`)
  return {}
}

/** Of a database of Redis. */
function numberOf(written: string | number | undefined, raw: RawStore, site: Site, { report }: Context): number {
  const number = Number(written ?? 0)
  const isNumber = Number.isInteger(number) && number >= 0
  if (isNumber && (number === 0 || raw.cluster !== true)) return number
  const message = isNumber
    ? 'a cluster has database 0 alone; gateways that share it and nothing else have a prefix each'
    : 'expected the number of a database, from 0'
  report.error('bad-value', site.child(raw.database === undefined ? 'url' : 'database'), message)
  return 0
}

function present<K extends string, V>(name: K, value: V | undefined): { readonly [name in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [name in K]: V })
}
