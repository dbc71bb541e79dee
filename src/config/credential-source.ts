import { resolve } from 'node:path'
import type { CredentialConfig } from '../core/config.js'
import type { AssumedRole, ModuleSource, OAuthSource, SigningKey } from '../core/credential-source.js'
import type { Json } from '../core/json.js'
import type { Placement } from '../core/placement.js'
import type { Secret } from '../core/secret.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { checkHeaderValue } from './headers.js'
import type { RawSecret, RawTypedCredential } from './raw.generated.js'
import { Report } from './report.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'
import { isModulePath, readUserModule } from './user-module.js'

/** `module`: a path in place of a word. */
type Type = 'header' | 'query' | 'basic' | 'headers' | 'oauth2' | 'gcp' | 'jwt' | 'exec' | 'aws-sigv4' | 'module'
type Member = Exclude<keyof RawTypedCredential, 'type'>

/** Members of each type: those that it needs, and those that it may have. `secret` may be beside the credential instead. */
const MEMBERS: Readonly<Record<Type, { readonly needs: readonly Member[]; readonly may: readonly Member[] }>> = {
  header: { needs: ['name'], may: ['secret', 'scheme'] },
  query: { needs: ['name'], may: ['secret'] },
  basic: { needs: ['user'], may: ['secret'] },
  headers: { needs: ['headers'], may: [] },
  oauth2: {
    needs: ['token_url'],
    may: [
      ...([
        'client_id',
        'secret',
        'secret_field',
        'auth',
        'grant',
        'scope',
        'audience',
        'params',
        'key',
        'algorithm',
        'key_id',
      ] as const),
      ...(['in', 'name', 'scheme'] as const),
    ],
  },
  gcp: { needs: [], may: ['file', 'scopes', 'in', 'name', 'scheme'] },
  jwt: {
    needs: ['key'],
    may: [
      ...(['secret', 'algorithm', 'key_id', 'issuer', 'subject', 'audience', 'claims', 'ttl', 'backdate'] as const),
      ...(['in', 'name', 'scheme'] as const),
    ],
  },
  exec: { needs: ['command'], may: ['timeout', 'in', 'name', 'scheme'] },
  module: { needs: [], may: ['options', 'secret', 'timeout', 'in', 'name', 'scheme'] },
  'aws-sigv4': {
    needs: ['service', 'region'],
    may: [
      ...(['access_key_id', 'secret', 'session_token', 'profile', 'role', 'session_name', 'external_id'] as const),
      ...(['web_identity', 'payload'] as const),
    ],
  },
}

const DEFAULT_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const DEFAULT_TTL_MS = 10 * 60_000
/** For a command, and for a call of a module. */
const DEFAULT_TOKEN_MS = 5000
const DEFAULT_SESSION = 'model-gateway'
const MIN_HMAC_CHARS = 32

/** The secrets of a credential beside `secret`, and where they are written. */
export function furtherSecrets(
  raw: RawTypedCredential,
  site: Site,
): readonly (readonly [RawSecret, Site, isKey: boolean])[] {
  const { key, session_token, headers = {}, params = {} } = raw
  const lists = { headers, params }
  return [
    ...(key === undefined ? [] : [[key, site.child('key'), true] as const]),
    ...(session_token === undefined ? [] : [[session_token, site.child('session_token'), false] as const]),
    ...Object.entries(lists).flatMap(([list, values]) =>
      Object.entries(values).flatMap(([name, value]) =>
        typeof value === 'string' ? [] : [[value, site.child(list).child(name), false] as const],
      ),
    ),
  ]
}

/** A credential that is written with a type. `secret`: what was read of `secret`; absent where it is not there, or not needed. */
export function readTypedCredential(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  context: Context,
): CredentialConfig | undefined {
  const type = typeOf(raw)
  if (!hasItsMembers(raw, type, site, context)) return undefined
  const own = secret === undefined ? {} : { secret }
  // What is missing was reported when the upstream was found to be on or off.
  const read = reader({ ...context, report: new Report() })
  switch (type) {
    case 'header':
    case 'query':
      return { place: placeOf({ ...raw, in: type }), ...own }
    case 'basic':
      return { place: placeOf({ type: 'basic', scheme: 'Basic' }), user: raw.user ?? '', ...own }
    case 'headers': {
      const all = Object.entries(raw.headers ?? {}).map(([name, value]) => {
        const place = site.child('headers').child(name)
        if (typeof value === 'string') checkHeaderValue(value, place, context)
        return [name.toLowerCase(), typeof value === 'string' ? value : read(value, place)]
      })
      const headers = Object.fromEntries(all.filter(([, value]) => value !== undefined))
      return { place: { in: 'header', name: Object.keys(headers)[0] ?? 'authorization' }, headers }
    }
    case 'oauth2':
      return { place: placeOf(raw), ...own, ...sourceOrNone(oauth(raw, site, secret, read, context)) }
    case 'jwt':
      return {
        place: placeOf(raw),
        ...(raw.key === undefined ? own : {}),
        ...sourceOrNone(jwt(raw, site, secret, read, context)),
      }
    case 'gcp': {
      const { file, scopes = [DEFAULT_SCOPE] } = raw
      const source = { type: 'gcp', ...(file === undefined ? {} : { file: beside(site, file) }), scopes } as const
      return { place: placeOf(raw), source }
    }
    case 'exec': {
      const { timeout, command = [] } = raw
      const time = timeout === undefined ? DEFAULT_TOKEN_MS : readDuration(timeout, site.child('timeout'), context)
      return { place: placeOf(raw), source: { type: 'exec', command, timeout: time } }
    }
    case 'module':
      return { place: placeOf(raw), ...own, ...sourceOrNone(ofModule(raw, site, secret, context)) }
    case 'aws-sigv4':
      return signature(raw, site, secret, read, context)
  }
}

/** Undefined: the secret that it is to get is not there. */
function ofModule(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  context: Context,
): ModuleSource | undefined {
  const { timeout } = raw
  const module = readUserModule(raw.type, raw.options, site.child('type'), context)
  const time = timeout === undefined ? DEFAULT_TOKEN_MS : readDuration(timeout, site.child('timeout'), context)
  if (raw.secret !== undefined && secret === undefined) return undefined
  return { type: 'module', ...module, ...(secret === undefined ? {} : { secret }), timeout: time }
}

function typeOf({ type }: RawTypedCredential): Type {
  return isModulePath(type) ? 'module' : (type as Type)
}

type Read = (raw: RawSecret, site: Site, isKey?: boolean) => Secret | undefined

function reader(context: Context): Read {
  return (raw, site, isKey = false) => {
    const result = readSecret(raw, site, context, true, isKey ? 'text' : 'line')
    return result !== 'broken' && 'secret' in result ? result.secret : undefined
  }
}

/** Undefined: a secret is not there, so that the upstream is off. */
function sourceOrNone(source: CredentialConfig['source'] | undefined): Pick<CredentialConfig, 'source'> {
  return source === undefined ? {} : { source }
}

function hasItsMembers(raw: RawTypedCredential, type: Type, site: Site, { report }: Context): boolean {
  const { needs, may } = MEMBERS[type]
  // The key of a jwt may be the upstream's secret.
  const missing = needs.filter(name => raw[name] === undefined && (name !== 'key' || raw.secret === undefined))
  const strays = (Object.keys(raw) as (Member | 'type')[]).filter(
    name => name !== 'type' && !needs.includes(name) && !may.includes(name),
  )
  for (const name of missing) {
    report.error('missing-key', site, `"${name}" is missing here: a credential of type ${raw.type} needs it`, {
      on: 'key',
    })
  }
  for (const name of strays) {
    const message = `"${name}" means nothing for a credential of type ${raw.type}; it has ${[...needs, ...may].join(', ')}`
    report.error('unknown-key', site.child(name), message, { on: 'key' })
  }
  return missing.length === 0 && strays.length === 0
}

function placeOf(raw: RawTypedCredential & { readonly in?: 'header' | 'query' }): Placement {
  const { name = 'authorization' } = raw
  if (raw.in === 'query') return { in: 'query', name }
  const lower = name.toLowerCase()
  const scheme = raw.scheme ?? (lower === 'authorization' && raw.type !== 'header' ? 'Bearer' : undefined)
  return { in: 'header', name: lower, ...(scheme === undefined ? {} : { scheme }) }
}

function oauth(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  read: Read,
  context: Context,
): OAuthSource | undefined {
  const { token_url: tokenUrl = '', client_id: clientId = '', scope, audience, params = {} } = raw
  const { secret_field: field } = raw
  const hasSecret = raw.secret !== undefined || secret !== undefined
  const auth = raw.auth ?? (raw.key !== undefined ? 'private_key_jwt' : hasSecret && !field ? 'basic' : 'none')
  checkTokenUrl(tokenUrl, site.child('token_url'), context)
  if (auth === 'private_key_jwt' && raw.key === undefined) {
    context.report.error('missing-key', site, '"key" is missing here: private_key_jwt signs with it', { on: 'key' })
  }
  if (auth !== 'none' && clientId === '') {
    context.report.error('missing-key', site, `"client_id" is missing here: auth ${auth} needs it`, { on: 'key' })
  }
  if (field !== undefined && !hasSecret) {
    context.report.error('missing-key', site, `"secret" is missing here: the field ${field} has it`, { on: 'key' })
  }
  const key = signingKey(raw, site, undefined, read, context)
  if (field !== undefined && secret === undefined) return undefined
  if ((auth === 'basic' || auth === 'body') && secret === undefined) return undefined
  if (auth === 'private_key_jwt' && key === undefined) return undefined
  const fields = Object.entries(params).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : read(value, site.child('params').child(name)),
  ])
  if (fields.some(([, value]) => value === undefined)) return undefined
  return {
    type: 'oauth2',
    tokenUrl,
    grant: raw.grant ?? 'client_credentials',
    clientId,
    auth,
    ...(secret === undefined ? {} : { secret }),
    ...(field === undefined ? {} : { secretField: field }),
    ...(key === undefined ? {} : { key }),
    params: {
      ...(scope === undefined ? {} : { scope }),
      ...(audience === undefined ? {} : { audience }),
      ...(Object.fromEntries(fields) as Record<string, string | Secret>),
    },
  }
}

/** A client secret must not travel in the clear. */
function checkTokenUrl(text: string, site: Site, { report }: Context): void {
  if (report.unfilled.has(text)) return
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '') {
    report.error(
      'bad-value',
      site,
      'expected the address of a token server, such as https://login.example.com/oauth2/token',
    )
  } else if (url.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    report.warn(
      'insecure-url',
      site,
      'this address is not encrypted: the secret and the token could be read on the way',
    )
  }
}

function jwt(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  read: Read,
  context: Context,
): CredentialConfig['source'] | undefined {
  const { issuer, subject, audience, claims = {}, ttl, backdate } = raw
  const key = signingKey(raw, site, secret, read, context)
  if (key === undefined) return undefined
  const named = { iss: issuer, sub: subject, aud: audience }
  const given = Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return {
    type: 'jwt',
    key,
    claims: { ...(claims as Record<string, Json>), ...Object.fromEntries(given) },
    ttl: ttl === undefined ? DEFAULT_TTL_MS : readDuration(ttl, site.child('ttl'), context),
    ...(backdate === undefined ? {} : { backdate: readDuration(backdate, site.child('backdate'), context) }),
  }
}

/** `secret` is the key where there is no other. */
function signingKey(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  read: Read,
  { report }: Context,
): SigningKey | undefined {
  const at = raw.key === undefined ? site : site.child('key')
  const key = raw.key === undefined ? secret : read(raw.key, at, true)
  if (key === undefined) return undefined
  const algorithm = raw.algorithm ?? 'RS256'
  const isSecret = algorithm.startsWith('HS')
  const text = key.reveal()
  const isAssumed = text.startsWith('assumed secret of ')
  if (isSecret && text.length < MIN_HMAC_CHARS && !isAssumed) {
    report.error('bad-secret', at, `a key for ${algorithm} has ${MIN_HMAC_CHARS} characters or more`)
  }
  if (!isSecret && !text.includes('PRIVATE KEY') && !isAssumed) {
    report.error('bad-secret', at, `a key for ${algorithm} is a private key in PEM form`)
  }
  return { algorithm, key, ...(raw.key_id === undefined ? {} : { id: raw.key_id }) }
}

function signature(
  raw: RawTypedCredential,
  site: Site,
  secret: Secret | undefined,
  read: Read,
  { report }: Context,
): CredentialConfig {
  const place: Placement = { in: 'header', name: 'authorization' }
  const { access_key_id: id, session_token, profile, role, service = '', region = '', payload = 'signed' } = raw
  if (id === undefined && (raw.secret !== undefined || session_token !== undefined)) {
    report.error('missing-key', site, '"access_key_id" is missing here: secret and session_token belong to it', {
      on: 'key',
    })
  }
  if (id !== undefined && profile !== undefined) {
    report.error('conflict', site.child('profile'), 'access_key_id and profile are both here: remove one', {
      on: 'key',
    })
  }
  for (const name of ['session_name', 'external_id', 'web_identity'] as const) {
    if (raw[name] !== undefined && role === undefined) {
      report.error('missing-key', site, `"role" is missing here: ${name} belongs to it`, { on: 'key' })
    }
  }
  if (id !== undefined && secret === undefined) return { place }
  const session = session_token && read(session_token, site.child('session_token'))
  const access =
    id !== undefined && secret !== undefined ? { id, secret, ...(session === undefined ? {} : { session }) } : undefined
  return {
    place,
    ...(secret === undefined ? {} : { secret }),
    source: {
      type: 'aws-sigv4',
      service,
      region,
      payload,
      ...(access === undefined ? {} : { access }),
      ...(profile === undefined ? {} : { profile }),
      ...(role === undefined ? {} : { role: roleOf(raw, role, site) }),
    },
  }
}

function roleOf({ session_name, external_id, web_identity }: RawTypedCredential, arn: string, site: Site): AssumedRole {
  return {
    arn,
    session: session_name ?? DEFAULT_SESSION,
    ...(external_id === undefined ? {} : { externalId: external_id }),
    ...(web_identity === undefined ? {} : { webIdentity: beside(site, web_identity) }),
  }
}

function beside(site: Site, file: string): string {
  return resolve(site.document.source.folder, file)
}
