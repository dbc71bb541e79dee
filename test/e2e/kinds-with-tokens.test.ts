import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startTaskUpstream, type TaskUpstream } from '../helpers/task-upstream.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'
import { loadText } from '../routes/plans.js'

// Kinds whose secret is not what their upstream gets: tokens are made of it, here or at a token server.

relaysAnything() // the shapes here are the providers' own

const CHAT = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
const ASKED = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: TaskUpstream
}

/** An upstream of the kind, and the model `m` on it. */
async function stage(t: Test, kind: string, more: string, env: Readonly<Record<string, string>>): Promise<Stage> {
  const upstream = await startTaskUpstream(t, () => ({ body: CHAT }))
  const yaml = `version: 1
store: { type: memory }
${CALLER}
upstreams:
  up: { kind: ${kind}, base: "${upstream.origin}", ${more} }
models: { m: up }
`
  return { upstream, gateway: await startTestGateway(t, yaml, { env }) }
}

t.test('watsonx: an API key gets tokens of IAM, anew if one is refused', async t => {
  const key = canary('upstream')
  let given = 0
  // As its reference says. Everything else is refused.
  const iam = await startTaskUpstream(t, ({ method, target, headers, body }) => {
    const form = Object.fromEntries(new URLSearchParams(body))
    const isRight =
      `${method} ${target}` === 'POST /identity/token' &&
      headers['content-type'] === 'application/x-www-form-urlencoded' &&
      headers.authorization === undefined &&
      form.grant_type === 'urn:ibm:params:oauth:grant-type:apikey' &&
      form.apikey === key &&
      Object.keys(form).length === 2
    if (!isRight)
      return { status: 400, body: { errorCode: 'BXNIM0415E', errorMessage: 'Provided API key could not be found.' } }
    given += 1
    return { body: { access_token: `${canary('upstream')}.${given}`, token_type: 'Bearer', expires_in: 3600 } }
  })
  const credential = `credential: { type: oauth2, token_url: "${iam.origin}/identity/token" }, secret: { env: WATSONX_APIKEY }`
  const { gateway, upstream } = await stage(t, 'watsonx', credential, { WATSONX_APIKEY: key })
  t.equal((await gateway.chat(ASKED)).status, 200)
  const sent = (at: number): string => String(upstream.requests.items[at]?.headers.authorization)
  t.match(sent(0), /^Bearer canary-upstream\S+\.1$/)
  t.notMatch(sent(0), key)
  t.equal(upstream.requests.items[0]?.target, '/ml/v1/text/chat?version=2024-10-08')
  upstream.script = ({ headers }) =>
    headers.authorization === sent(0) ? { status: 401, body: { errors: [{ code: 'token_expired' }] } } : { body: CHAT }
  t.equal((await gateway.chat(ASKED)).status, 200)
  t.match(sent(2), /\.2$/)
  const wrong = await stage(t, 'watsonx', credential, { WATSONX_APIKEY: canary('upstream') })
  t.equal((await wrong.gateway.chat(ASKED)).status, 502)
  t.match(await wrong.gateway.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
    cause: /status 400/,
  })
  t.equal(wrong.upstream.requests.items.length, 0)
})

for (const [kind, path] of [
  ['azure-openai-entra', '/v1/chat/completions'],
  ['foundry-entra', '/v1/messages'],
] as const) {
  t.test(`${kind}: client credentials in place of a key`, async t => {
    const scope = 'https://cognitiveservices.azure.com/.default'
    const client = { ...CLIENT, token_endpoint_auth_method: 'client_secret_post' as const }
    const server = await startTokenServer(t, [client], undefined, [scope])
    const more = `credential: { type: oauth2, token_url: "${server.tokenUrl}" }, secret: { env: AZURE_CLIENT_SECRET }`
    const env = { AZURE_CLIENT_ID: CLIENT.client_id, AZURE_CLIENT_SECRET: CLIENT.client_secret ?? '' }
    const { gateway, upstream } = await stage(t, kind, more, env)
    const answer = await gateway.request(path, { body: { ...ASKED, max_tokens: 9 } })
    t.equal(answer.status, 200, answer.text)
    const { headers } = upstream.requests.items[0] ?? {}
    t.match(headers?.authorization, /^Bearer \S{20,}$/)
    t.equal(headers?.['api-key'], undefined)
    t.match(server.asked.items, [{ authorization: undefined, status: 200 }], 'the secret is in the form')
  })
}

t.test('kling-signed: tokens signed with the secret of an access key, as its reference says', async t => {
  const secret = canary('upstream').padEnd(32, 'x')
  const env = { KLING_ACCESS_KEY: 'the-access-key', KLING_SECRET_KEY: secret }
  const { gateway, upstream } = await stage(t, 'kling-signed', 'secret: { env: KLING_SECRET_KEY }', env)
  upstream.script = () => ({ body: { code: 0, data: { task_id: 't-1', task_status: 'submitted' } } })
  const begun = await gateway.request('/v1/videos', { body: { model: 'm', prompt: 'A cat' } })
  t.equal(begun.status, 200, begun.text)
  const token = String(upstream.requests.items[0]?.headers.authorization).replace('Bearer ', '')
  t.match(decodeProtectedHeader(token), { alg: 'HS256', typ: 'JWT' })
  await jwtVerify(token, Buffer.from(secret), { issuer: 'the-access-key' })
  const { iat = 0, exp = 0, nbf = 0 } = decodeJwt(token)
  t.equal(exp - iat, 1800)
  t.equal(iat - nbf, 5)
})

t.test('what a kind takes from variables may be missing, or be said of the upstream itself', async t => {
  const kling = 'secret: { env: KLING_SECRET_KEY }'
  const env = { KLING_SECRET_KEY: canary('upstream').padEnd(32, 'x') }
  const problems = async (upstream: string): Promise<readonly string[]> => {
    const yaml = `version: 1\nupstreams: { up: { ${upstream} } }\nmodels: { m: up }\n`
    return (await loadText(yaml, env)).problems.map(({ message }) => message)
  }
  t.match(await problems(`kind: kling-signed, ${kling}`), [/KLING_ACCESS_KEY is not set/])
  t.match(await problems('kind: watsonx, base: https://llm.example.com'), [
    /"secret" is missing here: the field apikey has it/,
  ])
  t.match(await problems('kind: kling-signed, credential: { type: jwt, issuer: mine }'), [/"key" is missing here/])
  const own = await stage(t, 'kling-signed', `credential: { type: jwt, issuer: mine }, ${kling}`, env)
  own.upstream.script = () => ({ body: { code: 0, data: { task_id: 't-1', task_status: 'submitted' } } })
  t.equal((await own.gateway.request('/v1/videos', { body: { model: 'm', prompt: 'A cat' } })).status, 200)
  const sent = String(own.upstream.requests.items[0]?.headers.authorization).replace('Bearer ', '')
  t.equal(decodeJwt(sent).iss, 'mine')
})

proveNoLeak(t)
