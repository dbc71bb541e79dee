import { readFile } from 'node:fs/promises'
import type { AssumedRole, SigV4Source } from '../../core/credential-source.js'
import { ask, type Question } from '../../net/ask.js'
import { CredentialFault } from '../../net/signer.js'
import { outputOf, wordsOf } from '../exec.js'
import { guardedAddress } from '../guarded-address.js'
import { type Outside, unreachable } from '../oauth2.js'
import { jsonOf, timeOf } from '../token-answer.js'
import type { Fetched } from '../token-cache.js'
import { type Profile, readProfile } from './profile.js'
import { type AwsAccess, signed } from './sign.js'

/** How often keys that have no end are read again: files and variables may have changed. */
const STATIC_LIFE_MS = 60 * 60_000
/** Profiles on the way from the first one to that of a key. */
const MAX_PROFILES = 5
const SESSION_SECONDS = 3600
const CONTAINER_HOST = 'http://169.254.170.2'
const MACHINE_ORIGIN = 'http://169.254.169.254'
const DEFAULT_SESSION = 'model-gateway'

/**
 * The access key of the moment: of the file, the environment, a profile, the container, or the machine, in this order, as AWS's own
 * tools look for it; then that of the role to assume. Source: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 */
export async function fetchAccess(source: SigV4Source, outside: Outside): Promise<Fetched<AwsAccess>> {
  const { role, region } = source
  if (role?.webIdentity !== undefined) return byWebIdentity(role, role.webIdentity, region, outside)
  const base = await ownAccess(source, outside)
  return role === undefined ? base : assumed(role, base.value, region, outside)
}

async function ownAccess(source: SigV4Source, outside: Outside): Promise<Fetched<AwsAccess>> {
  const { access, profile } = source
  if (access !== undefined) {
    const { id, secret, session } = access
    return lasting({ id, secret: secret.reveal(), ...(session === undefined ? {} : { session: session.reveal() }) })
  }
  const { env } = outside
  if (profile === undefined) {
    const own = keyOf(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN)
    if (own !== undefined) return lasting(own)
    const { AWS_ROLE_ARN: arn, AWS_WEB_IDENTITY_TOKEN_FILE: file } = env
    if (arn !== undefined && file !== undefined) {
      const role = { arn, session: env.AWS_ROLE_SESSION_NAME ?? DEFAULT_SESSION }
      return byWebIdentity(role, file, source.region, outside)
    }
  }
  const named = await byProfile(profile ?? env.AWS_PROFILE ?? 'default', source, outside)
  if (named !== undefined) return named
  if (profile !== undefined) throw new CredentialFault(`the profile ${profile} has no access key`)
  return (await fromContainer(outside)) ?? fromInstance(outside)
}

/**
 * Undefined: the profile has no key. One of `role_arn` and `source_profile` assumes that role, and so does its source profile
 * unless that has a key. `via` has the profiles on the way here.
 */
async function byProfile(
  name: string,
  source: SigV4Source,
  outside: Outside,
  via: readonly string[] = [],
): Promise<Fetched<AwsAccess> | undefined> {
  const way = [...via, name]
  if (via.includes(name)) throw new CredentialFault(`source_profile leads in a circle: ${way.join(', ')}`)
  if (way.length > MAX_PROFILES)
    throw new CredentialFault(`source_profile leads over more than ${MAX_PROFILES} profiles`)
  const profile = await readProfile(name, outside.env)
  const key = keyOf(profile.aws_access_key_id, profile.aws_secret_access_key, profile.aws_session_token)
  const { role_arn: arn, source_profile: from, external_id: externalId, web_identity_token_file: file } = profile
  if (arn === undefined || (via.length > 0 && key !== undefined)) return ownKey(key, profile, outside)
  const role = {
    arn,
    session: profile.role_session_name ?? DEFAULT_SESSION,
    ...(externalId === undefined ? {} : { externalId }),
  }
  if (file !== undefined) return byWebIdentity(role, file, source.region, outside)
  const isOwn = from === undefined || from === name
  const base = await (isOwn ? ownKey(key, profile, outside) : byProfile(from, source, outside, way))
  if (base === undefined) throw new CredentialFault(`the profile ${name} has a role and no key to assume it with`)
  return assumed(role, base.value, source.region, outside)
}

/** The key that is written in a profile, or that its command prints. */
async function ownKey(
  key: AwsAccess | undefined,
  { credential_process: command }: Profile,
  { timeoutMs }: Outside,
): Promise<Fetched<AwsAccess> | undefined> {
  if (key !== undefined) return lasting(key)
  return command === undefined ? undefined : printed(command, timeoutMs)
}

function keyOf(id?: string, secret?: string, session?: string): AwsAccess | undefined {
  if (id === undefined || id === '' || secret === undefined || secret === '') return undefined
  return { id, secret, ...(session === undefined || session === '' ? {} : { session }) }
}

function lasting(value: AwsAccess): Fetched<AwsAccess> {
  return { value, expires: Date.now() + STATIC_LIFE_MS }
}

/** AssumeRole of the Security Token Service. */
async function assumed(
  role: AssumedRole,
  base: AwsAccess,
  region: string,
  outside: Outside,
): Promise<Fetched<AwsAccess>> {
  const fields = new URLSearchParams({ Action: 'AssumeRole', Version: '2011-06-15', RoleArn: role.arn })
  fields.set('RoleSessionName', role.session)
  fields.set('DurationSeconds', String(SESSION_SECONDS))
  if (role.externalId !== undefined) fields.set('ExternalId', role.externalId)
  const address = new URL(stsUrl(region, outside))
  const request = {
    method: 'POST',
    path: address.pathname,
    headers: formHeaders(),
    body: Buffer.from(fields.toString()),
  }
  const scope = { service: 'sts', region, payload: 'signed' } as const
  const { headers } = await signed(request, address.host, base, scope)
  return session({ url: address.href, method: 'POST', headers: named(headers), body: request.body }, outside)
}

/** AssumeRoleWithWebIdentity: no signature, the token proves who asks. */
async function byWebIdentity(
  role: AssumedRole,
  file: string,
  region: string,
  outside: Outside,
): Promise<Fetched<AwsAccess>> {
  const token = await readFile(file, 'utf8').catch(() => {
    throw new CredentialFault(`the file ${file} with the web identity cannot be read`)
  })
  const fields = new URLSearchParams({ Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleArn: role.arn })
  fields.set('RoleSessionName', role.session)
  fields.set('DurationSeconds', String(SESSION_SECONDS))
  fields.set('WebIdentityToken', token.trim())
  return session(
    { url: stsUrl(region, outside), method: 'POST', headers: named(formHeaders()), body: fields.toString() },
    outside,
  )
}

function stsUrl(region: string, { env }: Outside): string {
  const url = env.AWS_ENDPOINT_URL_STS ?? `https://sts.${region}.amazonaws.com/`
  return guardedAddress(url, 'AWS_ENDPOINT_URL_STS').href
}

function formHeaders(): string[] {
  return ['accept', 'application/json', 'content-type', 'application/x-www-form-urlencoded']
}

function named(flat: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at + 1 < flat.length; at += 2) headers[flat[at] ?? ''] = flat[at + 1] ?? ''
  return headers
}

/** The service answers in XML, or in JSON as asked; both have the same names. */
async function session(question: Question, { timeoutMs, egress }: Outside): Promise<Fetched<AwsAccess>> {
  const { host } = new URL(question.url)
  const { status, text } = await ask(question, timeoutMs, egress).catch(cause => unreachable(host, cause))
  const field = (name: string): string | undefined =>
    new RegExp(`<${name}>([^<]{1,8192})</${name}>|"${name}"\\s*:\\s*"?([^",}]{1,8192})`)
      .exec(text)
      ?.slice(1)
      .find(Boolean)
  if (status !== 200)
    throw new CredentialFault(`${host} answered with status ${status} (${field('Code') ?? 'no code'})`)
  const access = keyOf(field('AccessKeyId'), field('SecretAccessKey'), field('SessionToken'))
  if (access === undefined) throw new CredentialFault(`${host} sent no credentials`)
  const written = field('Expiration')
  const expires = timeOf(written) ?? (Number(written) > 0 ? Number(written) * 1000 : undefined)
  return { value: access, expires: expires ?? Date.now() + SESSION_SECONDS * 1000 }
}

/** Of a container: ECS, EKS Pod Identity. Undefined: this is not one. */
async function fromContainer({ timeoutMs, env }: Outside): Promise<Fetched<AwsAccess> | undefined> {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = env
  if (relative === undefined && full === undefined) return undefined
  const url = guardedAddress(
    relative ?? full ?? '',
    `AWS_CONTAINER_CREDENTIALS_${relative === undefined ? 'FULL' : 'RELATIVE'}_URI`,
    CONTAINER_HOST,
  )
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN: token, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = env
  const proof = file === undefined ? token : (await readFile(file, 'utf8').catch(() => '')).trim()
  const headers: Record<string, string> = proof === undefined ? {} : { authorization: proof }
  return documented({ url: url.href, method: 'GET', headers }, timeoutMs)
}

/** Of the machine: the instance metadata service, version 2. */
async function fromInstance({ timeoutMs, env }: Outside): Promise<Fetched<AwsAccess>> {
  const named = env.AWS_EC2_METADATA_SERVICE_ENDPOINT ?? MACHINE_ORIGIN
  const { host, origin } = guardedAddress(named, 'AWS_EC2_METADATA_SERVICE_ENDPOINT')
  const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
  const put = { url: new URL('/latest/api/token', origin).href, method: 'PUT', headers }
  const { text: token, status } = await ask(put, timeoutMs, undefined).catch(() => {
    throw new CredentialFault(
      'no access key was found: not in the file, the environment, a profile, a container or the machine',
    )
  })
  if (status !== 200) throw new CredentialFault(`${host} answered with status ${status}`)
  const asking = (path: string): Question => ({
    url: new URL(`/latest/meta-data/iam/security-credentials/${path}`, origin).href,
    method: 'GET',
    headers: { 'x-aws-ec2-metadata-token': token },
  })
  const roles = await ask(asking(''), timeoutMs, undefined).catch(cause => unreachable(host, cause))
  const [role = ''] = roles.text.split('\n')
  if (roles.status !== 200 || role.trim() === '') throw new CredentialFault('this machine has no role')
  return documented(asking(encodeURIComponent(role.trim())), timeoutMs)
}

async function documented(question: Question, timeoutMs: number): Promise<Fetched<AwsAccess>> {
  const { host } = new URL(question.url)
  const { status, text } = await ask(question, timeoutMs, undefined).catch(cause => unreachable(host, cause))
  const document = (jsonOf(text) ?? {}) as Document
  const access = status === 200 ? accessIn(document, document.Token) : undefined
  if (access === undefined) throw new CredentialFault(`${host} answered with status ${status} and no key`)
  return access
}

/**
 * The key that the command of a profile prints.
 * Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
 */
async function printed(command: string, timeoutMs: number): Promise<Fetched<AwsAccess>> {
  const words = wordsOf(command)
  const { Version: version, ...document } = (jsonOf(await outputOf(words, timeoutMs)) ?? {}) as Document
  const access = version === 1 ? accessIn(document, document.SessionToken) : undefined
  if (access === undefined)
    throw new CredentialFault(`the credential_process ${words[0]} printed no access key (Version 1)`)
  return access
}

type Document = Readonly<Record<string, unknown>>

function accessIn(
  { AccessKeyId: id, SecretAccessKey: secret, Expiration }: Document,
  session: unknown,
): Fetched<AwsAccess> | undefined {
  const value = keyOf(textIn(id), textIn(secret), textIn(session))
  return value && { value, expires: timeOf(Expiration) ?? Date.now() + STATIC_LIFE_MS }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
