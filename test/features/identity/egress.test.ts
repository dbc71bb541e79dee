import { createServer } from 'node:https'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import { Authority, withoutOpenssl } from '../../helpers/authority.js'
import { startConnectProxy } from '../../helpers/connect-proxy.js'
import { CALLER, startTestGateway } from '../../helpers/gateway.js'
import { Journal } from '../../helpers/journal.js'
import { listening } from '../../helpers/listening.js'

t.test(
  'an issuer is reached by the proxy of egress, and has a certificate of its authority',
  {
    skip: withoutOpenssl,
  },
  async t => {
    const authority = new Authority(t)
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }] }
    const asked = new Journal<string>('requests to the issuer')
    const server = createServer(authority.issue('DNS:localhost'), ({ url = '' }, response) => {
      asked.push(url)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(url === '/jwks' ? keys : { issuer, jwks_uri: `${issuer}/jwks` }))
    })
    const port = await listening(t, server)
    const issuer = `https://localhost:${port}`
    const proxy = await startConnectProxy(t, { to: () => ({ host: '127.0.0.1', port }) })
    const yaml = (egress: string): string => `version: 1
${CALLER}
egress: ${egress}
upstreams: { sim: { kind: simulator, proxy: off } }
models: { m: { upstream: sim, as: sim-text } }
identity:
  providers:
    company: { issuer: "${issuer}", audience: gateway, allow: [localhost, 127.0.0.1, "::1"], caller: { models: ["*"] } }
`
    const token = new SignJWT({ iss: issuer, aud: 'gateway', sub: 'ada', exp: 9e9 })
    const key = await token.setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(privateKey)
    const files = { 'ca.pem': authority.cert }
    const good = await startTestGateway(t, yaml(`{ proxy: "${proxy.origin}", tls: { ca: ca.pem } }`), { files })
    t.equal((await good.chat({}, { key })).status, 200)
    t.same(asked.items, ['/.well-known/openid-configuration', '/jwks'])
    t.equal(proxy.asked.items.length, 2)
    // The proxy is asked for the address that was checked, not for the name.
    for (const { authority: place } of proxy.asked.items) t.match(place, /^(127\.0\.0\.1|\[::1\]):\d+$/)
    const bad = await startTestGateway(t, yaml(`{ proxy: "${proxy.origin}" }`), { files })
    t.equal((await bad.chat({}, { key })).status, 503, 'an authority that no one trusts')
    t.equal(asked.items.length, 2)
  },
)
