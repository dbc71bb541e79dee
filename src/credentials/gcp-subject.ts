import { readFile } from 'node:fs/promises'
import { isObject } from '../core/json.js'
import { ask, type Question } from '../net/ask.js'
import { CredentialFault } from '../net/signer.js'
import { fetchAccess } from './aws/access.js'
import { signed } from './aws/sign.js'
import { outputOf, wordsOf } from './exec.js'
import { type Outside, unreachable } from './oauth2.js'
import { jsonOf, plain } from './token-answer.js'

/** A file of credentials of Google, or a part of one. */
export type Document = Readonly<Record<string, unknown>>

const FROM = 'credential_source'
/** The operator allows commands in files of credentials by this variable (https://google.aip.dev/auth/4117). */
const ALLOWS_COMMANDS = 'GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES'
const DEFAULT_COMMAND_MS = 30_000
const MAX_COMMAND_MS = 120_000
const TARGET_HEADER = 'x-goog-cloud-target-resource'

/** What the other provider says of this machine: in a file, behind an address, by a command, or by a signature of AWS. */
export async function subjectToken(document: Document, outside: Outside): Promise<string> {
  const source = partOf(document, FROM)
  if (typeof source.environment_id === 'string') return plain(await signedByAws(document, source, outside), FROM)
  if (source.executable !== undefined)
    return plain(await byCommand(document, partOf(source, 'executable'), outside), FROM)
  const { file, url, headers } = source
  const text = typeof file === 'string' ? await readText(file) : await textAt({ url, headers }, outside)
  const { type, subject_token_field_name: field } = partOf(source, 'format')
  const token = type === 'json' ? jsonOf(text)?.[String(field)] : text.trim()
  return plain(String(token ?? ''), FROM)
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new CredentialFault(`the file ${file} of ${FROM} cannot be read`)
  })
}

async function textAt(
  {
    url,
    headers,
    method = 'GET',
  }: { readonly url: unknown; readonly headers?: unknown; readonly method?: 'GET' | 'PUT' },
  { timeoutMs, egress }: Outside,
): Promise<string> {
  const address = safeUrl(url, `${FROM}.url`)
  const question: Question = { url: address, method, headers: (headers ?? {}) as Record<string, string> }
  const { host } = new URL(address)
  // Over http it leads to this machine, or to its metadata server: no proxy reaches them.
  const way = address.startsWith('http:') ? undefined : egress
  const { status, text } = await ask(question, timeoutMs, way).catch(cause => unreachable(host, cause))
  if (status !== 200) throw new CredentialFault(`${host} answered with status ${status}`)
  return text
}

async function byCommand(
  document: Document,
  { command, timeout_millis: wanted }: Document,
  outside: Outside,
): Promise<string> {
  if (outside.env[ALLOWS_COMMANDS] !== '1')
    throw new CredentialFault(`the command of ${FROM} is run only where ${ALLOWS_COMMANDS} is 1`)
  const words = wordsOf(String(command ?? ''))
  const timeoutMs = Math.min(MAX_COMMAND_MS, Number(wanted) > 0 ? Number(wanted) : DEFAULT_COMMAND_MS)
  const output = await outputOf(words, timeoutMs, {
    GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE: textOf(document, 'audience'),
    GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE: textOf(document, 'subject_token_type'),
    GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE: '0',
  })
  const { success, code, id_token: token, saml_response: response } = jsonOf(output) ?? {}
  if (success !== true) throw new CredentialFault(`the command ${words[0]} has no token (${code ?? 'no code'})`)
  return String(token ?? response ?? '')
}

/** A request of AWS for the caller's identity, signed and not sent: Google sends it. */
async function signedByAws(document: Document, source: Document, outside: Outside): Promise<string> {
  const region = await awsRegion(source, outside)
  const url = safeUrl(textOf(source, 'regional_cred_verification_url').replace('{region}', region), FROM)
  const { host, pathname, search } = new URL(url)
  const scope = { service: 'sts', region, payload: 'signed', covers: TARGET_HEADER } as const
  const { value: access } = await fetchAccess({ type: 'aws-sigv4', ...scope }, outside)
  const headers = [TARGET_HEADER, textOf(document, 'audience')]
  const request = { method: 'POST', path: pathname + search, headers, body: null }
  const { headers: flat } = await signed(request, host, access, scope)
  const pairs = ['host', host, ...flat]
  const list = pairs.flatMap((key, at) => (at % 2 === 0 ? [{ key, value: pairs[at + 1] }] : []))
  return encodeURIComponent(JSON.stringify({ url, method: 'POST', headers: list }))
}

/** Of the environment, or of the machine: its metadata name a zone, which is the region and a letter. */
async function awsRegion(source: Document, outside: Outside): Promise<string> {
  const { AWS_REGION: region, AWS_DEFAULT_REGION: other } = outside.env
  const known = region ?? other
  if (known !== undefined) return known
  const { imdsv2_session_token_url: session, region_url: url } = source
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }
  const token = session === undefined ? undefined : await textAt({ url: session, method: 'PUT', headers: ttl }, outside)
  const headers = token === undefined ? {} : { 'x-aws-ec2-metadata-token': token }
  return (await textAt({ url, headers }, outside)).trim().slice(0, -1)
}

function partOf(document: Document, name: string): Document {
  const part = document[name]
  return isObject(part as never) ? (part as Document) : {}
}

/** Addresses in a file of credentials: over TLS, or on this machine. */
export function safeUrl(value: unknown, name: string): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const isLocal = url !== undefined && /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]|169\.254\.169\.254)$/.test(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url.href
  throw new CredentialFault(`${name} in the file of credentials must be an https address`)
}

export function textOf(document: Document, name: string): string {
  const value = document[name]
  if (typeof value === 'string' && value !== '') return value
  throw new CredentialFault(`the file of credentials has no ${name}`)
}
