import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { proxyOfVariables } from '../config/proxy.js'
import { Secret } from '../core/secret.js'
import { Egress } from '../net/egress.js'
import { SourceFault } from '../runtime/source/fault.js'
import { fetchHttp } from '../runtime/source/http.js'
import { FETCH_TIMEOUT_MS, RemoteSource } from '../runtime/source/remote.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { fetchGit, revisionOf } from './remote-git.js'

const DEFAULT_POLL_MS = 30_000
/** Most keys of `--signed-by`. */
const MAX_KEYS = 20

/** A configuration at an address, by what the command line says of it. Throws {@link CommandError}. */
export function remoteSource(address: string, io: Io): RemoteSource {
  const { digest, signedBy = [], bearerEnv, poll = DEFAULT_POLL_MS, cache } = io.remote ?? {}
  const isVerified = digest !== undefined || signedBy.length > 0
  checkAddress(address, isVerified)
  if (signedBy.length > MAX_KEYS) throw new CommandError(`--signed-by is given more than ${MAX_KEYS} times`)
  const proxy = proxyOfVariables(
    name => io.env[name],
    fault => {
      throw new CommandError(fault)
    },
  )
  return new RemoteSource({
    fetch: address.startsWith('git+') ? fetchGit : fetchHttp,
    ...{ address, poll, timeoutMs: FETCH_TIMEOUT_MS, egress: new Egress({ proxy, pool: {} }) },
    ...(bearerEnv === undefined ? {} : { bearer: bearerOf(bearerEnv, io) }),
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

function checkAddress(address: string, isVerified: boolean): void {
  const isGit = address.startsWith('git+')
  const plain = isGit ? address.slice('git+'.length) : address
  if (!URL.canParse(plain)) throw new CommandError('the address of the configuration is not one')
  const url = new URL(plain)
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:'))
    throw new CommandError('the address has a login: give --bearer-env NAME, which names a variable with a token')
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

function bearerOf(name: string, io: Io): Secret {
  const value = io.env[name]
  if (value === undefined || value === '') throw new CommandError(`the variable ${name} of --bearer-env is not set`)
  if (!/^[!-~]+$/.test(value)) throw new CommandError(`the variable ${name} has characters that no token has`)
  return new Secret(value)
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
