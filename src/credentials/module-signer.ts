import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { ModuleSource } from '../core/credential-source.js'
import { loadExport } from '../core/load-module.js'
import {
  type CredentialModule,
  isCredentialModule,
  type OpenCredential,
  type ReadCredential,
  type RequestToSign,
  readCredential,
  readHeaders,
} from '../core/module-credential.js'
import type { Placement } from '../core/placement.js'
import { ModuleFault, type ModuleWarning, toolsFor, within } from '../core/user-module.js'
import { CredentialFault, type RequestSigner } from '../net/signer.js'
import type { UpstreamRequest } from '../transport/client/handler.js'
import { CachingSigner } from './caching-signer.js'
import { TokenPlace } from './place-token.js'
import type { Fetched } from './token-cache.js'

/** A module that only signs has no credential to fetch: it counts as fresh for so long. */
const SIGNING_LIFE_MS = 24 * 60 * 60_000
/** Parts of a header's value that are shorter are words, such as a scheme, and hidden nowhere. */
const MIN_SECRET_CHARS = 8

interface Given extends ReadCredential {
  readonly module: CredentialModule
}

/** The credential of a module of the user's own, and its signature where it signs. */
export class ModuleSigner extends CachingSigner<Given> implements RequestSigner {
  readonly #source: ModuleSource
  readonly #place: TokenPlace
  readonly #origin: string

  /** `origin`: of the upstream. `warn`: what the module says to the operator. */
  constructor(source: ModuleSource, place: Placement, origin: string, warn: ModuleWarning) {
    super(fetcherOf(source, origin, warn))
    this.#source = source
    this.#place = new TokenPlace(place)
    this.#origin = origin
  }

  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest> {
    const given = this.cache.get()
    return given instanceof Promise ? given.then(one => this.#with(request, one)) : this.#with(request, given)
  }

  /** Another credential is what `get` gives: where the module has none, the same request would be refused again. */
  override async renew(refused: UpstreamRequest): Promise<boolean> {
    const { present } = this.cache
    return (present === undefined || present.module.get !== undefined) && super.renew(refused)
  }

  /** What signs may sign in another way the next time. */
  protected override sentOf({ module, token, headers }: Given): unknown {
    return module.sign === undefined ? { token, headers } : Symbol('signed')
  }

  protected secretsOf({ token, headers }: Given): readonly string[] {
    const parts = headers.flatMap(([, value]) => [value, ...value.split(' ')])
    return [...(token === undefined ? [] : [token]), ...parts.filter(part => part.length >= MIN_SECRET_CHARS)]
  }

  #with(request: UpstreamRequest, given: Given): UpstreamRequest | Promise<UpstreamRequest> {
    const { token, headers, module } = given
    const own = withHeaders(request, headers)
    const sent = token === undefined ? { ...own, signedWith: given } : this.#place.put(own, token, given)
    return module.sign === undefined ? sent : this.#signed(sent, given.module)
  }

  async #signed(request: UpstreamRequest, module: CredentialModule): Promise<UpstreamRequest> {
    const { timeout, module: file } = this.#source
    const shown = toSign(request, this.#origin)
    const headers = await guarded(file, async () => {
      const signature = readHeaders(await within(timeout, file, () => module.sign?.(shown) ?? {}))
      if (typeof signature === 'string') throw new ModuleFault(signature)
      return signature
    })
    return withHeaders(request, headers)
  }
}

function fetcherOf(source: ModuleSource, origin: string, warn: ModuleWarning): () => Promise<Fetched<Given>> {
  const { module: file, options, secret, timeout } = source
  let opened: CredentialModule | undefined
  const open = async (): Promise<CredentialModule> => {
    const openCredential = await loadExport<OpenCredential>(source, 'openCredential')
    const text = secret?.reveal()
    const tools = { ...toolsFor(source.module, warn, text), origin, ...(text === undefined ? {} : { secret: text }) }
    const module = await within(timeout, file, () => openCredential(options, tools))
    if (!isCredentialModule(module)) throw new ModuleFault('what openCredential returns has neither get nor sign')
    return module
  }
  return () =>
    guarded(file, async () => {
      opened ??= await open()
      const module = opened
      if (module.get === undefined) {
        const expires = Date.now() + SIGNING_LIFE_MS
        return { value: { module, token: undefined, headers: [], expires }, expires }
      }
      const read = readCredential(await within(timeout, file, () => module.get?.()), Date.now())
      if (typeof read === 'string') throw new ModuleFault(read)
      return { value: { ...read, module }, expires: read.expires }
    })
}

/** A fault of a module is one of the credential. */
async function guarded<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const why = cause instanceof ModuleFault ? cause.message : 'it failed'
    throw new CredentialFault(`the module ${basename(file)} gives no credential: ${why}`)
  }
}

/** Headers of the module replace others of their names. */
function withHeaders(request: UpstreamRequest, added: ReadCredential['headers']): UpstreamRequest {
  if (added.length === 0) return request
  const names = new Set(added.map(([name]) => name))
  const headers: string[] = []
  for (let at = 0; at + 1 < request.headers.length; at += 2) {
    const [name = '', value = ''] = [request.headers[at], request.headers[at + 1]]
    if (!names.has(name.toLowerCase())) headers.push(name, value)
  }
  return { ...request, headers: [...headers, ...added.flat()] }
}

function toSign({ method, path, headers, body }: UpstreamRequest, origin: string): RequestToSign {
  const shown: Record<string, string> = Object.create(null)
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name, value = ''] = [(headers[at] ?? '').toLowerCase(), headers[at + 1]]
    shown[name] = shown[name] === undefined ? value : `${shown[name]}, ${value}`
  }
  return {
    ...{ method, url: origin + path, headers: shown },
    sha256: () =>
      body === null || body instanceof Uint8Array
        ? createHash('sha256')
            .update(body ?? '')
            .digest('hex')
        : undefined,
  }
}
