import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import type t from 'tap'

type Test = Pick<typeof t, 'teardown'>

export const CLIENT = { id: 'app', secret: 'the-secret-of-the-app-at-the-issuer' }

/** What a test does to an issuer. */
export interface Issuer {
  readonly origin: string
  /** Paths that were asked for. */
  readonly asked: string[]
  /** Its connections are cut. */
  away: boolean
  /** Answers of its own in place of the server's, by path: JSON, or what a function does. */
  readonly instead: Map<string, object | ((response: ServerResponse) => void)>
  /** A token of the server itself, by the client's login. `opaque`: not a JWT. */
  token(form?: 'jwt' | 'opaque'): Promise<string>
  /** A token with these claims, signed with the key of the moment. */
  sign(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>
  /** The server's keys are new ones from now on. */
  rotate(): Promise<void>
  publicKey(): Promise<JWK>
}

/** People who sign in with a browser: any name and password do. */
export interface SignsIn {
  /** Where browsers go back to. */
  readonly redirect: string
  /** Their claims, by the name that they sign in with. */
  readonly people: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** An OpenID provider on loopback: `oidc-provider` itself, with claims for the gateway. */
export async function startIssuer(
  t: Test,
  claims: Readonly<Record<string, unknown>> = {},
  signsIn?: SignsIn,
): Promise<Issuer> {
  const state = { serve: (_: unknown, response: ServerResponse): void => void response.end() }
  const asked: string[] = []
  const instead: Issuer['instead'] = new Map()
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://issuer').pathname
    asked.push(path)
    const other = instead.get(path)
    if (issuer.away) request.socket.destroy()
    else if (typeof other === 'function') other(response)
    else if (other !== undefined) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(other))
    } else state.serve(request, response)
  })
  const origin = await listening(t, server)
  let key = await newKey()
  const serve = (): void => {
    const provider = new Provider(origin, {
      ...settings([key.jwk], claims, signsIn),
      ...(signsIn === undefined ? {} : signing(signsIn)),
    })
    state.serve = provider.callback() as unknown as typeof state.serve
  }
  serve()
  const issuer: Issuer = {
    origin,
    asked,
    instead,
    away: false,
    token: form => tokenOf(origin, form ?? 'jwt'),
    async sign(payload = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000)
      const usual = { iss: origin, aud: 'gateway', sub: 'ada', iat: now, exp: now + 600, ...claims }
      return await new SignJWT({ ...usual, ...payload })
        .setProtectedHeader({ alg: 'RS256', kid: key.jwk.kid ?? '', ...header })
        .sign(key.privateKey)
    },
    async rotate() {
      key = await newKey()
      serve()
    },
    publicKey: async () => await exportJWK(key.publicKey),
  }
  return issuer
}

async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

let keys = 0

async function newKey(): Promise<Awaited<ReturnType<typeof generateKeyPair>> & { readonly jwk: JWK }> {
  const pair = await generateKeyPair('RS256', { extractable: true })
  keys += 1
  return { ...pair, jwk: { ...(await exportJWK(pair.privateKey)), kid: `key-${keys}`, use: 'sig', alg: 'RS256' } }
}

function signing({ people }: SignsIn): object {
  const names = [...new Set(Object.values(people).flatMap(Object.keys))]
  return {
    claims: { openid: ['sub', ...names] },
    conformIdTokenClaims: false,
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId, ...people[accountId] }),
    }),
  }
}

function settings(
  jwks: readonly JWK[],
  claims: Readonly<Record<string, unknown>>,
  signsIn: SignsIn | undefined,
): object {
  const isSigning = signsIn !== undefined
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials', ...(isSigning ? ['authorization_code'] : [])],
        redirect_uris: isSigning ? [signsIn.redirect] : [],
        response_types: isSigning ? ['code'] : [],
      },
    ],
    jwks: { keys: jwks },
    extraTokenClaims: () => claims,
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: isSigning },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: 'chat',
          audience: 'gateway',
          accessTokenTTL: 600,
          accessTokenFormat: resource.slice('urn:'.length),
        }),
      },
    },
  }
}

async function tokenOf(origin: string, form: string): Promise<string> {
  const response = await fetch(`${origin}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: `urn:${form}`, scope: 'chat' }),
  })
  const { access_token, ...rest } = (await response.json()) as { access_token?: string }
  if (access_token === undefined) throw new Error(`no token: ${JSON.stringify(rest)}`)
  return access_token
}
