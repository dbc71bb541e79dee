import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listening } from '../helpers/listening.js'
import { command } from './in-process.js'

const SECRET = 'the-secret-of-the-upstream-0123456789'

/** A server that notes what it is asked, and answers so. */
async function startServer(
  t: Test,
  answer: (url: string) => { readonly status: number; readonly body: object },
): Promise<{ readonly origin: string; readonly asked: readonly { url: string; headers: IncomingHttpHeaders }[] }> {
  const asked: { url: string; headers: IncomingHttpHeaders }[] = []
  const server: Server = createServer((request, response) => {
    const { url = '', headers } = request
    asked.push({ url, headers })
    const { status, body } = answer(url)
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  return { origin: `http://127.0.0.1:${await listening(t, server)}`, asked }
}

function fileWith(t: Test, upstream: string, more = '', files: Readonly<Record<string, string>> = {}): string {
  const text = `version: 1\n${more}upstreams:\n  own: { kind: openai-compatible, ${upstream} }\n`
  return join(t.testdir({ 'gateway.yaml': text, ...files }), 'gateway.yaml')
}

t.test('what an upstream says is shown without its secret, its address and escapes', async t => {
  let status = 400
  const { origin } = await startServer(t, () => ({
    status,
    body: { error: { message: `key ${SECRET} of ${origin}\u001b[31m is wrong` } },
  }))
  const file = fileWith(t, `base: "${origin}", secret: { env: OWN_KEY }`)
  const options = { env: { OWN_KEY: SECRET } }
  const shown = 'key [hidden] of http://[hidden]\ufffd[31m is wrong'
  const refused = await command(['probe', 'own', file, '--model', 'm'], options)
  t.equal(refused.code, 1)
  t.match(refused.stderr, `error: nothing was found: 400 ${shown}: look at`)
  const all = await command(['probe', 'own', file, '--model', 'm', '--json'], options)
  status = 401
  const unknown = await command(['probe', 'own', file, '--model', 'm'], options)
  t.match(unknown.stderr, `error: the upstream refuses the credential (401): ${shown}\n`)
  for (const { stdout, stderr } of [refused, all, unknown]) t.notMatch(stdout + stderr, SECRET)
})

t.test('probe fetches a secret from its manager, and asks nothing with one that is not there', async t => {
  const vault = await startServer(t, url =>
    url.startsWith('/v1/secret/data/own')
      ? { status: 200, body: { data: { data: { key: SECRET }, metadata: {} } } }
      : { status: 404, body: { errors: [] } },
  )
  const { origin, asked } = await startServer(t, () => ({ status: 401, body: {} }))
  const upstream = `base: "${origin}", secret: { vault: secret/data/own, field: key }`
  const more = `secret_managers: { timeout: 2s, vault: { address: "${vault.origin}", token: { env: VAULT_TOKEN } } }\n`
  const options = { env: { VAULT_TOKEN: 'token-of-the-vault' } }
  const probe = (file: string, ...args: readonly string[]) =>
    command(['probe', 'own', file, '--model', 'm', ...args], options)
  const file = fileWith(t, upstream, more)
  t.equal((await probe(file, '--dry-run')).code, 0)
  t.strictSame([vault.asked.length, asked.length], [0, 0])
  t.equal((await probe(file)).code, 1)
  t.strictSame(
    asked.map(({ headers }) => headers.authorization),
    [`Bearer ${SECRET}`],
  )
  const missing = await probe(fileWith(t, upstream.replace('data/own', 'data/none'), more))
  t.match(missing, { code: 2, stderr: /the upstream own is off: / })
  t.equal(asked.length, 1)
})

t.test('probe finds credentials of a cloud in a file of variables', async t => {
  const { origin, asked } = await startServer(t, () => ({ status: 403, body: {} }))
  const credential = 'credential: { type: aws-sigv4, service: s, region: r }'
  const variables = 'AWS_ACCESS_KEY_ID=AKIDOFTHEFILE\nAWS_SECRET_ACCESS_KEY=the-secret-of-the-file\n'
  const file = fileWith(t, `base: "${origin}", ${credential}`, '', { '.env': variables })
  await command(['probe', 'own', file, '--model', 'm', '--env-file', join(file, '..', '.env')])
  t.match(asked[0]?.headers.authorization, 'Credential=AKIDOFTHEFILE/')
})
