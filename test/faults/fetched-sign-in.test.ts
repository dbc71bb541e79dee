import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { judge, KINDS, OF_ISSUERS, trap, type Verdict } from '../helpers/inner-addresses.js'
import { CLIENT, type Issuer, startIssuer } from '../helpers/issuer.js'
import { request } from '../helpers/raw-client.js'

// F-X1: what the issuer of the console's sign-in names.

t.setTimeout(120_000)

const DISCOVERY = '/.well-known/openid-configuration'

interface SignedIn {
  /** Where the browser is sent first, and last. */
  readonly first: string
  readonly last: string
  /** Why no one has signed in; empty if someone has. */
  readonly cause: string
}

/** Someone signs in at a gateway of their own: addresses of an issuer are kept as long as the file says the same. */
async function signIn(t: Test, issuer: Issuer, allow = '127.0.0.1, "*"'): Promise<SignedIn> {
  const client = `issuer: "${issuer.origin}", client_id: ${CLIENT.id}, client_secret: { env: CONSOLE_SECRET }`
  const role = 'role: { claim: role, map: { ops: admin } }'
  const { line, origin } = await adminLine(`, oidc: { ${client}, allow: [${allow}], name: sub, ${role} }`)
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { m: { upstream: sim, as: sim-text } }\n${line}\n`
  const { log } = await startTestGateway(t, yaml, {
    env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET, CONSOLE_SECRET: CLIENT.secret },
  })
  const begun = await request(t, origin, '/admin/oidc/start')
  const first = String(begun.header('location'))
  const causes = (): string =>
    String(log.items.findLast(({ msg }) => msg === 'a sign-in to the console was refused')?.cause ?? '')
  if (!URL.canParse(first)) return { first, last: first, cause: causes() }
  const { searchParams } = new URL(first)
  const nonce = searchParams.get('nonce')
  issuer.instead.set('/token', { id_token: await issuer.sign({ aud: CLIENT.id, role: ['ops'], nonce }) })
  const [cookie = ''] = String(begun.header('set-cookie')).split(';')
  const path = `/admin/oidc/callback?code=c&state=${searchParams.get('state')}`
  const back = await request(t, origin, path, { headers: { cookie } })
  return { first, last: String(back.header('location')), cause: causes() }
}

function describedBy({ origin }: Issuer, more: object = {}): object {
  return {
    issuer: origin,
    jwks_uri: `${origin}/jwks`,
    authorization_endpoint: `${origin}/auth`,
    token_endpoint: `${origin}/token`,
    ...more,
  }
}

t.test('F-X1 what the issuer of the console names at an inner address is not asked', async t => {
  const host = await trap(t)
  const issuer = await startIssuer(t)
  for (const name of ['token_endpoint', 'jwks_uri']) {
    const verdicts: Record<string, Verdict> = {}
    for (const [kind, address] of Object.entries(KINDS).filter(([kind]) => OF_ISSUERS.includes(kind))) {
      issuer.instead.set(DISCOVERY, describedBy(issuer, { [name]: `http://${address}:${host.port}/` }))
      const { last, cause } = await signIn(t, issuer)
      t.equal(last, '/#refused=issuer', kind)
      verdicts[kind] = /blocked/.test(cause) ? 'refused' : 'taken'
    }
    judge(t, `${name} of the console's issuer`, verdicts, host)
  }
  issuer.instead.set(DISCOVERY, describedBy(issuer))
  t.match(await signIn(t, issuer), { last: '/', cause: '' }, 'nothing else was in the way')
})

t.test('F-X1 a browser is sent to an address of the web alone, not where the issuer of the console says', async t => {
  const issuer = await startIssuer(t)
  for (const address of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'ws://127.0.0.1/', '/auth']) {
    issuer.instead.set(DISCOVERY, describedBy(issuer, { authorization_endpoint: address }))
    t.match(await signIn(t, issuer), { first: '/#refused=issuer', cause: /authorization_endpoint/ }, address)
  }
})

t.test('F-X1 an issuer of the console on this machine is not asked unless allow says so', async t => {
  const issuer = await startIssuer(t)
  t.match(await signIn(t, issuer, '"*"'), { first: '/#refused=issuer', cause: /blocked/ })
  t.same(issuer.asked, [])
})
