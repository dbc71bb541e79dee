import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import Provider, { type ClientMetadata } from 'oidc-provider'
import type t from 'tap'
import type { Pair } from './authority.js'
import { Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

/** A client of the token server, which gets tokens for itself. */
export const CLIENT: ClientMetadata = {
  client_id: 'gateway',
  client_secret: 'the secret of the gateway: 100%+&=',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
}

export interface TokenServer {
  readonly tokenUrl: string
  /** Requests for tokens, with how they are answered. */
  readonly asked: Journal<{ readonly authorization: string | undefined; readonly status: number }>
  /** Seconds that tokens are valid from now on. */
  life: number
  /** What it does: serve, refuse all requests, or answer none of them. */
  mood: 'serve' | 'refuse' | 'hang'
}

/** Who may show a certificate: the authority's own ones. */
export type Mutual = Pair & { readonly ca: string }

/** A real server of OAuth 2.0 (oidc-provider) with these clients; over TLS as `localhost`, where clients show certificates. */
export async function startTokenServer(
  test: Test,
  clients: readonly ClientMetadata[],
  mutual?: Mutual,
  scopes: readonly string[] = ['models'],
): Promise<TokenServer> {
  const state = { life: 600, mood: 'serve' as TokenServer['mood'] }
  const asked: TokenServer['asked'] = new Journal('requests for tokens')
  let serve: ReturnType<Provider['callback']> | undefined
  const listener: RequestListener = (request, response) => {
    const isToken = request.url === '/token'
    if (isToken && state.mood === 'hang') return
    if (isToken && state.mood === 'refuse') response.writeHead(503).end('{"error":"temporarily_unavailable"}')
    else void serve?.(request, response)
    if (isToken) {
      response.on('finish', () =>
        asked.push({ authorization: request.headers.authorization, status: response.statusCode }),
      )
    }
  }
  const tls = mutual && { ...mutual, requestCert: true, rejectUnauthorized: false }
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const issuer = mutual === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  const provider = new Provider(issuer, {
    clients: [...clients],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      ...(mutual === undefined ? {} : { mTLS: MTLS }),
    },
    scopes: [...scopes],
    ttl: { ClientCredentials: () => state.life },
    clientAuthMethods: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'none',
      ...(mutual === undefined ? [] : ['tls_client_auth' as const]),
    ],
  })
  serve = provider.callback()
  return {
    tokenUrl: `${issuer}/token`,
    asked,
    get life() {
      return state.life
    },
    set life(seconds) {
      state.life = seconds
    },
    get mood() {
      return state.mood
    },
    set mood(mood) {
      state.mood = mood
    },
  }
}

interface Context {
  readonly req: IncomingMessage
}

const shownBy = ({ req }: Context): TLSSocket => req.socket as TLSSocket

const MTLS = {
  enabled: true,
  tlsClientAuth: true,
  certificateAuthorized: (context: Context) => shownBy(context).authorized,
  certificateSubjectMatches: (context: Context, _property: string, expected: string) =>
    shownBy(context).getPeerCertificate().subject?.CN === expected.replace('CN=', ''),
  getCertificate: (context: Context) => shownBy(context).getPeerX509Certificate()?.toString() ?? '',
} as const
