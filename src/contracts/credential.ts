import { createHash } from 'node:crypto'
import {
  type CredentialModule,
  isCredentialModule,
  type ReadCredential,
  type RequestToSign,
  readCredential,
  readHeaders,
} from '../core/module-credential.js'
import type { Placement } from '../core/placement.js'
import { TokenPlace } from '../credentials/place-token.js'
import { type Declare, hold } from './asserts.js'

/** Requests at once. */
const AT_ONCE = 32
const BODY = '{"model":"m","messages":[]}'
const ORIGIN = 'https://api.example.com'

export interface CredentialSamples {
  /** Where the file sends the token; absent: as `Authorization: Bearer`. */
  readonly place?: Exclude<Placement, { readonly in: 'subprotocol' }>
}

type Unsigned = Pick<RequestToSign, 'url' | 'headers'>

/**
 * What the gateway expects of a module for credentials, as tests: declare them for one of your own.
 *
 * @param declare is called once for each behaviour.
 * @param open opens the module, as the gateway does by `openCredential(options, tools)`.
 */
export function credentialContract(
  declare: Declare,
  open: () => CredentialModule | Promise<CredentialModule>,
  { place = { in: 'header', name: 'authorization', scheme: 'Bearer' } }: CredentialSamples = {},
): void {
  const test = (title: string, run: (module: CredentialModule) => Promise<void>): void => {
    declare(title, async () => {
      const module = await open()
      hold(isCredentialModule(module), 'openCredential must return an object with get, sign or both', module)
      await run(module)
    })
  }
  test('what it gives fits into requests, and has not expired', async module => {
    if (module.get !== undefined) await given(module)
  })
  test('it gives a credential again, as after the end of the first one', async module => {
    if (module.get === undefined) return
    await given(module)
    await given(module)
  })
  test('it signs requests with a body, without one, and with one that is a stream', async module => {
    const unsigned = await unsignedOf(module, place)
    for (const body of [BODY, '', undefined]) await signature(module, request(unsigned, body))
  })
  test('it signs many requests at once', async module => {
    const unsigned = await unsignedOf(module, place)
    await Promise.all(Array.from({ length: AT_ONCE }, () => signature(module, request(unsigned, BODY))))
  })
}

async function given(module: CredentialModule): Promise<ReadCredential> {
  const now = Date.now()
  const read = readCredential(await module.get?.(), now)
  // What is wrong is said without a value: that is a secret.
  hold(typeof read !== 'string', `get: ${read}`)
  hold(read.expires > now, 'get: what it gives has expired')
  return read
}

/** What a request has before it is signed: the gateway signs none without the credential. */
async function unsignedOf(module: CredentialModule, place: Placement): Promise<Unsigned> {
  const own = { 'content-type': 'application/json', host: new URL(ORIGIN).host }
  const path = '/v1/chat/completions?trace=1'
  if (module.get === undefined) return { url: ORIGIN + path, headers: own }
  const { token, headers } = await given(module)
  const bare = { method: 'POST', path, headers: [], body: null }
  const sent = token === undefined ? bare : new TokenPlace(place).put(bare, token, undefined)
  const [name, value = ''] = sent.headers
  const placed = name === undefined ? {} : { [name.toLowerCase()]: value }
  return { url: ORIGIN + sent.path, headers: { ...own, ...Object.fromEntries(headers), ...placed } }
}

async function signature(module: CredentialModule, signed: RequestToSign): Promise<void> {
  if (module.sign === undefined) return
  const headers = readHeaders(await module.sign(signed))
  hold(typeof headers !== 'string', `sign: ${typeof headers === 'string' ? headers : ''}`)
}

/** `body` absent: it is a stream. */
function request(unsigned: Unsigned, body: string | undefined): RequestToSign {
  return {
    ...{ method: 'POST', ...unsigned },
    sha256: () => (body === undefined ? undefined : createHash('sha256').update(body).digest('hex')),
  }
}
