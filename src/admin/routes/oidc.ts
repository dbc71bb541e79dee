import { randomBytes, timingSafeEqual } from 'node:crypto'
import { IssuerFault } from '../../features/identity/fetch-json.js'
import { SignIn } from '../../features/identity/sign-in.js'
import { TokenFault } from '../../features/identity/verify.js'
import { begunOf, keepBegun, openSession } from '../console/session.js'
import type { AdminHost } from '../host.js'
import { AdminError, type AdminRequest, type AdminRoute, type StreamAnswer, TEXT } from '../route.js'

const PATH = '/admin/oidc'
/** Random bytes of a state, a nonce and a verifier. */
const RANDOM_BYTES = 32
const MAX_CODE_CHARS = 4096

const isOpen = ({ plan }: AdminHost): boolean => plan.admin?.console === true && plan.admin.oidc !== undefined

/** Both send a browser on, and are there where the file has an issuer. */
const REDIRECT = { status: 302, answer: TEXT, stream: 'text/plain', isOpen, isNavigation: true } as const

/** Of the plan in service; keys and addresses of its issuer are kept as long as it says the same. */
let latest: SignIn | undefined

export const beginSignIn: AdminRoute = {
  method: 'GET',
  path: `${PATH}/start`,
  summary:
    'Sends a browser to the issuer that admin.oidc declares, to sign in there (authorization code flow with PKCE).',
  ...REDIRECT,
  async handle(request, host): Promise<StreamAnswer> {
    const { signIn, digest } = signInOf(host)
    const [state = '', nonce = '', verifier = ''] = Array.from({ length: 3 }, () =>
      randomBytes(RANDOM_BYTES).toString('base64url'),
    )
    const begun = { state, nonce, verifier }
    try {
      const location = await signIn.address(begun, redirectOf(request, signIn))
      request.setCookie(keepBegun(digest, begun, request.isEncrypted))
      return to(location)
    } catch (cause) {
      return refused(cause, host)
    }
  },
}

export const endSignIn: AdminRoute = {
  method: 'GET',
  path: `${PATH}/callback`,
  summary: 'Where the issuer sends a browser back to: opens a session with the role that its claims give.',
  query: { code: TEXT, state: TEXT, error: TEXT, iss: TEXT },
  ...REDIRECT,
  async handle(request, host): Promise<StreamAnswer> {
    const { signIn, digest } = signInOf(host)
    const { headers, isEncrypted, setCookie, query } = request
    const begun = begunOf(digest, headers, isEncrypted)
    setCookie(keepBegun(digest, undefined, isEncrypted))
    try {
      const { code, state = '', error, iss } = query
      if (error !== undefined) throw new TokenFault('the issuer has refused')
      if (begun === undefined || !isSame(state, begun.state)) throw new TokenFault('it was not begun in this browser')
      // Another issuer must not answer in this one's place (RFC 9207).
      if (iss !== undefined && iss !== signIn.config.provider.issuer) throw new TokenFault('another issuer answers')
      if (code === undefined || code.length > MAX_CODE_CHARS) throw new TokenFault('the issuer gave no code')
      const person = await signIn.person(code, begun, redirectOf(request, signIn))
      setCookie(openSession({ digest, oidc: signIn.config }, person, isEncrypted))
      host.kernel.onNotice({ name: person.name, role: person.role }, 'signed in to the console')
      return to('/')
    } catch (cause) {
      return refused(cause, host)
    }
  },
}

function signInOf({ plan, kernel }: AdminHost): { readonly signIn: SignIn; readonly digest: string } {
  const { oidc, digest } = plan.admin ?? {}
  if (oidc === undefined) throw new AdminError(404, 'not_found', 'admin.oidc declares no issuer')
  // The key signs the sessions.
  if (digest === undefined) throw new AdminError(409, 'conflict', 'without an admin key there are no sessions')
  if (latest?.config !== oidc) latest = new SignIn(oidc, () => kernel.generation.egressOf(''))
  return { signIn: latest, digest }
}

function redirectOf({ headers, isEncrypted }: AdminRequest, { config }: SignIn): string {
  const own = config.address ?? `${isEncrypted ? 'https' : 'http'}://${headers.host}`
  return `${own}${PATH}/callback`
}

function to(location: string): StreamAnswer {
  return { status: 302, headers: { location }, pieces: [] }
}

/** The page says why; what the issuer said is for the log alone. */
function refused(cause: unknown, { kernel }: AdminHost): StreamAnswer {
  if (!(cause instanceof TokenFault || cause instanceof IssuerFault)) throw cause
  kernel.onNotice({ cause: cause.message }, 'a sign-in to the console was refused')
  return to(`/#refused=${cause instanceof IssuerFault ? 'issuer' : 'person'}`)
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
