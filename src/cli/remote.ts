import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { proxyOfVariables } from '../config/proxy.js'
import { Secret } from '../core/secret.js'
import { Egress } from '../net/egress.js'
import { SourceFault } from '../runtime/source/fault.js'
import type { Fetch } from '../runtime/source/fetching.js'
import { fetchHttp } from '../runtime/source/http.js'
import { FETCH_TIMEOUT_MS, RemoteSource } from '../runtime/source/remote.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { fetchGit, revisionOf } from './remote-git.js'
import { fetchS3, objectOf, urlOfObject } from './remote-s3.js'

const DEFAULT_POLL_MS = 30_000
/** Most keys of `--signed-by`. */
const MAX_KEYS = 20

/** A configuration at an address, by what the command line says of it. Throws {@link CommandError}. */
export function remoteSource(address: string, io: Io): RemoteSource {
  const { digest, signedBy = [], poll = DEFAULT_POLL_MS, cache } = io.remote ?? {}
  const isVerified = digest !== undefined || signedBy.length > 0
  const url = urlOf(address, io)
  checkAddress(address, url, isVerified)
  if (signedBy.length > MAX_KEYS) throw new CommandError(`--signed-by is given more than ${MAX_KEYS} times`)
  const proxy = proxyOfVariables(
    name => io.env[name],
    fault => {
      throw new CommandError(fault)
    },
  )
  const egress = new Egress({ proxy, pool: {} })
  return new RemoteSource({
    fetch: fetchOf(address, url, egress, io),
    ...{ address, poll, timeoutMs: FETCH_TIMEOUT_MS, egress },
    ...authorizationOf(address, io),
    ...(cache === undefined ? {} : { cache }),
    proof: { keys: signedBy.map(publicKey), ...(digest === undefined ? {} : { digest }) },
  })
}

/** For commands that read it once: the document that the address has now. */
export async function documentOf(source: RemoteSource): Promise<{ readonly text: Buffer; readonly file: string }> {
  await source.open().catch(error => failed(source, error))
  return { text: source.text, file: source.name }
}

/** For a gateway: the document of the address, or the one that was kept. */
export async function openRemote(
  source: RemoteSource,
  io: Io,
): Promise<{ readonly text: Buffer; readonly file: string; readonly remote: RemoteSource }> {
  const reason = await source.open().catch(error => failed(source, error))
  if (reason !== undefined) print(io.stderr, `${source.name}: ${reason}; the last good document is used`)
  return { text: source.text, file: source.name, remote: source }
}

function failed(source: RemoteSource, error: unknown): never {
  if (!(error instanceof SourceFault)) throw error
  throw new CommandError(`${source.name}:1:1  ${error.message}`, error.kind === 'refused' ? EXIT.failed : EXIT.usage)
}

/** Where it is asked for. */
function urlOf(address: string, { env }: Io): URL {
  if (isObject(address)) {
    const object = objectOf(address)
    if (object === undefined) throw new CommandError('expected s3://BUCKET/KEY, such as s3://fleet/gateway.yaml')
    return new URL(urlOfObject(object, env))
  }
  const plain = address.startsWith('git+') ? address.slice('git+'.length) : address
  if (!URL.canParse(plain)) throw new CommandError('the address of the configuration is not one')
  return new URL(plain)
}

function isObject(address: string): boolean {
  return address.startsWith('s3://')
}

function fetchOf(address: string, url: URL, egress: Egress, io: Io): Fetch {
  if (isObject(address)) return fetchS3(url.href, io, egress)
  return address.startsWith('git+') ? fetchGit : fetchHttp
}

function checkAddress(address: string, url: URL, isVerified: boolean): void {
  const isGit = address.startsWith('git+')
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:'))
    throw new CommandError(
      'the address has a login: give --bearer-env NAME or --basic-env NAME, which names a variable with it',
    )
  if (isGit && revisionOf(address) === undefined)
    throw new CommandError(
      'expected git+https://HOST/REPOSITORY#REVISION:PATH, such as git+https://git.example/fleet.git#main:gateway.yaml',
    )
  if (!isGit && url.hash !== '') throw new CommandError('the address of a configuration has no fragment')
  if (url.protocol === 'http:' && !isVerified && !isLoopback(url))
    throw new CommandError(
      'anyone on the way can change what http:// sends: give --digest or --signed-by, or use https://',
    )
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** What the options say of the header `authorization`. */
function authorizationOf(address: string, { env, remote }: Io): { readonly authorization?: Secret } {
  const { bearerEnv, basicEnv } = remote ?? {}
  const [option, name] = bearerEnv === undefined ? ['--basic-env', basicEnv] : ['--bearer-env', bearerEnv]
  if (name === undefined) return {}
  if (bearerEnv !== undefined && basicEnv !== undefined)
    throw new CommandError('of --bearer-env and --basic-env one is enough')
  if (isObject(address)) throw new CommandError(`s3:// is asked with a signature: ${option} is not used`)
  const value = env[name]
  if (value === undefined || value === '') throw new CommandError(`the variable ${name} of ${option} is not set`)
  if (basicEnv !== undefined) return { authorization: basic(name, value) }
  if (!/^[!-~]+$/.test(value)) throw new CommandError(`the variable ${name} has characters that no token has`)
  return { authorization: new Secret(`Bearer ${value}`) }
}

/** RFC 7617. */
function basic(name: string, login: string): Secret {
  if (!/^[^:\p{Cc}]+:\P{Cc}*$/u.test(login))
    throw new CommandError(`the variable ${name} has not the form USER:PASSWORD`)
  return new Secret(`Basic ${Buffer.from(login).toString('base64')}`)
}

function publicKey(file: string): KeyObject {
  try {
    const key = createPublicKey(readFileSync(file))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    throw new CommandError(`${file} cannot be read as a public key (PEM)`)
  }
  throw new CommandError(`${file} is not an Ed25519 key`)
}
