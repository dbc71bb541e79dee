import { createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { provesToken, stage, startCloud, TOKEN } from '../helpers/cloud.js'
import type { GatewayOptions } from '../helpers/gateway.js'

/** Workload identity federation with Google: what the other provider says comes by a command, or is a signature of AWS. */

const SESSION = { id: 'ASIAEXAMPLE00000002', secret: 'of-the-session', session: 'session-token+/=' }

/** A file of credentials for an identity of another provider. */
const federated = (origin: string, source: object): string =>
  JSON.stringify({
    type: 'external_account',
    audience: '//iam.example/pools/p',
    subject_token_type: 'urn:the-type',
    token_url: `${origin}/sts`,
    credential_source: source,
  })

t.test('gcp: with what a command says, where the operator allows commands', async t => {
  const server = await startCloud(t, () => ({ body: TOKEN }))
  const variables = ['AUDIENCE', 'TOKEN_TYPE', 'INTERACTIVE'].map(name => `process.env.GOOGLE_EXTERNAL_ACCOUNT_${name}`)
  const says = `console.log(JSON.stringify({ version: 1, success: true, id_token: [${variables}].join() }))`
  const folder = t.testdir({ 'says.mjs': says, 'fails.mjs': `console.log('{"success":false,"code":"E7"}')` })
  const options = (file: string): GatewayOptions => {
    const source = { executable: { command: `${process.execPath} "${folder}/${file}"`, timeout_millis: 60_000 } }
    return { files: { 'a.json': federated(server.origin, source) } }
  }
  const env = { GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES: '1' }
  await provesToken(t, '{ type: gcp, file: a.json }', { ...options('says.mjs'), env })
  const { subject_token: told } = Object.fromEntries(new URLSearchParams(server.asked.items[0]?.body))
  t.equal(told, '//iam.example/pools/p,urn:the-type,0')
  for (const [file, variables, cause] of [
    ['says.mjs', {}, /run only where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is 1/],
    ['fails.mjs', env, /has no token \(E7\)/],
  ] as const) {
    const { gateway } = await stage(t, '{ type: gcp, file: a.json }', { ...options(file), env: variables })
    t.equal((await gateway.chat()).status, 502)
    t.match((await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')).cause, cause)
  }
})

t.test('gcp: with a signature of AWS for who the machine is', async t => {
  const server = await startCloud(t, ({ path, method }) => {
    if (method === 'PUT') return { body: 'session-of-the-machine' }
    return { body: path === '/zone' ? 'eu-west-1b\n' : TOKEN }
  })
  const source = {
    environment_id: 'aws1',
    region_url: `${server.origin}/zone`,
    imdsv2_session_token_url: `${server.origin}/session`,
    regional_cred_verification_url: 'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
  }
  const files = { 'a.json': federated(server.origin, source) }
  const env = {
    AWS_ACCESS_KEY_ID: SESSION.id,
    AWS_SECRET_ACCESS_KEY: SESSION.secret,
    AWS_SESSION_TOKEN: SESSION.session,
  }
  await provesToken(t, '{ type: gcp, file: a.json }', { files, env })
  const [, zone, sts] = server.asked.items
  t.equal(zone?.headers['x-aws-ec2-metadata-token'], 'session-of-the-machine')
  const subject = new URLSearchParams(sts?.body).get('subject_token') ?? ''
  const proof = JSON.parse(decodeURIComponent(subject)) as { url: string; method: string; headers: Pair[] }
  t.match(proof, {
    method: 'POST',
    url: 'https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15',
  })
  const headers = Object.fromEntries(proof.headers.map(({ key, value }) => [key.toLowerCase(), value]))
  t.match(headers, { host: 'sts.eu-west-1.amazonaws.com', 'x-goog-cloud-target-resource': '//iam.example/pools/p' })
  t.match(headers.authorization, /SignedHeaders=host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource,/)
  t.equal(headers.authorization?.split('Signature=')[1], signatureOf(headers, SESSION.secret))
})

interface Pair {
  readonly key: string
  readonly value: string
}

/** Made by hand from AWS's description (https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html). */
function signatureOf(headers: Readonly<Record<string, string>>, secret: string): string {
  const names = ['host', 'x-amz-date', 'x-amz-security-token', 'x-goog-cloud-target-resource']
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
  const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const lines = names.map(name => `${name}:${headers[name]}\n`).join('')
  const request = `POST\n/\nAction=GetCallerIdentity&Version=2011-06-15\n${lines}\n${names.join(';')}\n${sha256('')}`
  const stamp = headers['x-amz-date'] ?? ''
  const scope = `${stamp.slice(0, 8)}/eu-west-1/sts/aws4_request`
  const key = scope.split('/').reduce<string | Buffer>(mac, `AWS4${secret}`)
  return mac(key, `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${sha256(request)}`).toString('hex')
}

proveNoLeak(t)
