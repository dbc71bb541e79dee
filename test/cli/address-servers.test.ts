import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { startDocumentServer } from '../helpers/document-server.js'
import { type GitServer, startGitServer, withoutGitServer } from '../helpers/git-server.js'
import { S3_ACCESS, type S3Server, startS3, withoutS3 } from '../helpers/s3-server.js'
import { run } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'
import { Fleet, models, SERVED, signer } from './fleet.js'

// Configurations at the servers that fleets use: git's own, and an object store that others have written.

t.setTimeout(180_000)

const LOGIN = 'reader:the-password-of-the-fleet'
const BASIC = `Basic ${Buffer.from(LOGIN).toString('base64')}`
const DIGEST = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
const serving = (model: string): string => SERVED.replace('sim-text', model)

interface Git {
  readonly server: GitServer
  readonly env: Record<string, string>
  readonly address: (revision: string) => string
}

async function gitServer(t: Test): Promise<Git> {
  const authority = new Authority(t)
  const server = await startGitServer(t, authority.issue('DNS:localhost'))
  const env = { GIT_SSL_CAINFO: join(authority.folder, 'ca.pem'), LOGIN, GIT_CONFIG_NOSYSTEM: '1' }
  return { server, env, address: revision => `git+${server.origin}/fleet.git#${revision}:gateway.yaml` }
}

const SKIPS_GIT = { skip: withoutGitServer || withoutOpenssl }

t.test('git over https: a branch that moves and is forced, and the server away', SKIPS_GIT, async t => {
  const { server, env, address } = await gitServer(t)
  const { folder, sign } = signer(t)
  const files = (text: string) => ({ 'gateway.yaml': text, 'gateway.yaml.sig': sign(text) })
  server.login = BASIC
  server.commit(files(SERVED))
  const options = ['--basic-env', 'LOGIN', '--signed-by', join(folder, 'fleet.pem')]
  const fleet = await Fleet.joinWith(t, env, address('main'), ...options)
  const origin = await fleet.origin()
  t.same(await models(origin), ['sim-text'])
  const digest = await fleet.metric('gateway_config_info')

  server.commit(files(serving('moved')))
  await fleet.bin.until(/"reloaded","generation":2/)
  t.same(await models(origin), ['moved'])
  t.not(await fleet.metric('gateway_config_info'), digest)
  server.amend(files(serving('forced')))
  await fleet.bin.until(/"reloaded","generation":3/)
  t.same(await models(origin), ['forced'])
  server.commit({ 'gateway.yaml': serving('unsigned') })
  const [refused] = await fleet.bin.until(/^.*reload failed.*$/m)
  t.match(refused, 'its signature is not by any of the keys')
  t.same(await models(origin), ['forced'])

  await server.stop()
  await fleet.bin.until(/cannot be fetched; the last one stays/)
  t.same(await models(origin), ['forced'])
  const again = await fleet.again(env)
  await again.bin.until(/git: .*the last good document is used/)
  t.same(await models(await again.origin()), ['forced'], 'a start without network')
  await server.restart()
  server.commit(files(serving('back')))
  await again.bin.until(/"reloaded"/)
  t.same(await models(await again.origin()), ['back'])
  t.notMatch(fleet.bin.stdout + fleet.bin.stderr, /the-password|cmVhZGVy/)
})

t.test('git over https: a pinned revision, a digest, and logins', SKIPS_GIT, async t => {
  const { server, env, address } = await gitServer(t)
  const pinned = server.commit({ 'gateway.yaml': GOOD })
  server.git('tag', '-a', 'v1', '-m', 'first')
  server.git('push', '--quiet', '--tags', server.folder, 'v1')
  server.commit({ 'gateway.yaml': GOOD.replace('sim-text: sim', 'later: sim') })
  const explained = (revision: string, ...more: readonly string[]) =>
    run(['explain', address(revision), ...more], { env: { ...env, TEST_KEY } })
  for (const revision of [pinned, 'v1', 'refs/tags/v1'])
    t.match(await explained(revision), { code: 0, stdout: /sim-text/ }, revision)
  t.match(await explained('main'), { code: 0, stdout: /later/ })
  t.match(await explained(pinned, '--digest', DIGEST(GOOD)), { code: 0 })
  t.match(await explained('main', '--digest', DIGEST(GOOD)), { code: 1, stderr: /and not the declared sha256:/ })
  t.match(await explained('absent'), { code: 2, stderr: /the repository has no absent/ })
  t.match(await explained('0'.repeat(40)), { code: 2, stderr: /git: / })

  server.login = BASIC
  const wants = /the server wants a login, or refuses the one that it gets/
  t.match(await explained('main'), { code: 2, stderr: wants }, 'no login')
  t.match(await explained('main', '--bearer-env', 'LOGIN'), { code: 2, stderr: wants }, 'a wrong one')
  t.match(await explained('main', '--basic-env', 'LOGIN'), { code: 0, stdout: /later/ })
  server.login = 'Bearer the-token-of-the-fleet'
  const token: Record<string, string> = { ...env, TEST_KEY, TOKEN: 'the-token-of-the-fleet' }
  const bearer = ['explain', address('main'), '--bearer-env', 'TOKEN']
  t.match(await run(bearer, { env: token }), { code: 0, stdout: /later/ })
  const { GIT_SSL_CAINFO: _, ...untrusting } = token
  t.match(await run(bearer, { env: untrusting }), { code: 2, stderr: /git: .*certificate/ }, 'an unknown authority')
})

t.test('git over https: a redirect is not followed, and no other server gets the login', SKIPS_GIT, async t => {
  const authority = new Authority(t)
  const elsewhere = await startGitServer(t, authority.issue('DNS:localhost'))
  elsewhere.commit({ 'gateway.yaml': GOOD })
  const front = await startDocumentServer(
    t,
    authority.issue('DNS:localhost'),
    `${elsewhere.origin}/fleet.git/info/refs`,
  )
  front.documents.set('/fleet.git/info/refs', 302)
  const env = { TEST_KEY, LOGIN, GIT_SSL_CAINFO: join(authority.folder, 'ca.pem') }
  const args = ['validate', `git+${front.origin}/fleet.git#main:gateway.yaml`, '--basic-env', 'LOGIN']
  t.match(await run(args, { env }), { code: 2, stderr: /git: / })
  t.match(front.asked.items, [{ authorization: BASIC }])
  t.equal(elsewhere.asked.items.length, 0)
})

interface Store {
  readonly server: S3Server
  /** Of a gateway that may read. */
  readonly env: Record<string, string>
  readonly trust: Record<string, string>
}

async function objectStore(t: Test): Promise<Store> {
  const authority = new Authority(t)
  const server = await startS3(t, authority.issue('DNS:localhost'))
  const trust = { NODE_EXTRA_CA_CERTS: join(authority.folder, 'ca.pem') }
  const home = mkdtempSync(join(tmpdir(), 'gateway-home-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  // A variable that is empty is not set.
  const own = { HOME: home, AWS_ENDPOINT_URL_S3: server.origin, AWS_REGION: '' }
  return { server, trust, env: { ...trust, ...S3_ACCESS, ...own } }
}

const SKIPS_S3 = { skip: withoutS3 || withoutOpenssl }

t.test('an object of S3 is followed by its entity tag, and kept for starts without network', SKIPS_S3, async t => {
  const { server, env } = await objectStore(t)
  const { folder, sign } = signer(t)
  const put = async (text: string, signature = sign(text)): Promise<void> => {
    await server.put('fleet/the file+1.yaml.sig', signature)
    await server.put('fleet/the file+1.yaml', text)
  }
  await put(SERVED)
  const address = `s3://${server.bucket}/fleet/the file+1.yaml`
  const fleet = await Fleet.joinWith(t, env, address, '--signed-by', join(folder, 'fleet.pem'))
  const origin = await fleet.origin()
  t.same(await models(origin), ['sim-text'])
  const same = async (): Promise<number> =>
    Number(/result="same"\} (\d+)/.exec(await fleet.metric('gateway_config_fetches_total'))?.[1])
  while ((await same()) < 2) await new Promise(resolve => setTimeout(resolve, 50))
  t.match(await fleet.metric('gateway_config_fetches_total'), /result="changed"\} 0$/m, 'the store answers 304')

  await put(serving('changed'))
  await fleet.bin.until(/"reloaded","generation":2/)
  t.same(await models(origin), ['changed'])
  await put(serving('forged'), sign(SERVED))
  t.match((await fleet.bin.until(/^.*reload failed.*$/m))[0], 'its signature is not by any of the keys')
  t.same(await models(origin), ['changed'])

  await server.kill()
  await fleet.bin.until(/cannot be fetched; the last one stays/)
  const again = await fleet.again(env)
  await again.bin.until(/ECONNREFUSED.*the last good document is used/)
  t.same(await models(await again.origin()), ['changed'])
  for (const { bin } of [fleet, again])
    t.notMatch(bin.stdout + bin.stderr, S3_ACCESS.AWS_SECRET_ACCESS_KEY, 'no secret is logged')
})

t.test('an object of S3: digests, credentials and presigned addresses', SKIPS_S3, async t => {
  const { server, env, trust } = await objectStore(t)
  await server.put('gateway.yaml', GOOD)
  const address = `s3://${server.bucket}/gateway.yaml`
  const validated = (more: Record<string, string>, source: string, ...options: readonly string[]) =>
    run(['validate', source, ...options], { env: { ...trust, TEST_KEY, ...more } })
  t.match(await validated(env, address), { code: 0, stdout: /^s3:\/\/fleet\/gateway\.yaml is valid/ })
  t.match(await validated(env, address, '--digest', DIGEST(GOOD)), { code: 0 })
  t.match(await validated(env, address, '--digest', DIGEST('')), { code: 1, stderr: /its digest is sha256:/ })
  t.match(await validated(env, `s3://${server.bucket}/absent`), { code: 2, stderr: /answered 404 \(NoSuchKey\)/ })
  const wrong = { ...env, AWS_SECRET_ACCESS_KEY: 'another-secret-key' }
  t.match(await validated(wrong, address), { code: 2, stderr: /answered 403 \(SignatureDoesNotMatch\)/ })
  const unknown = { ...env, AWS_ACCESS_KEY_ID: 'another-access-key' }
  t.match(await validated(unknown, address), { code: 2, stderr: /answered 403 \(InvalidAccessKeyId\)/ })
  const { AWS_ENDPOINT_URL_S3: _, ...cloud } = env
  t.match(await validated(cloud, address), { code: 2, stderr: /AWS_REGION does not say/ })
  t.match(await validated(env, 's3://Fleet'), { code: 2, stderr: /expected s3:\/\/BUCKET\/KEY/ })
  t.match(await validated({ ...env, T: 't' }, address, '--bearer-env', 'T'), {
    code: 2,
    stderr: /--bearer-env is not used/,
  })

  const good = await presigned(server, S3_ACCESS.AWS_SECRET_ACCESS_KEY)
  t.match(await validated({}, good), { code: 0, stdout: /^https:\/\/localhost:\d+\/fleet\/gateway\.yaml is valid/ })
  const bad = await validated({}, await presigned(server, 'another-secret-key'))
  t.match(bad, { code: 2, stderr: /answered 403 \(SignatureDoesNotMatch\)/ })
  t.notMatch(bad.stderr, 'X-Amz', 'a query may be a credential')
  const old = new Date(Date.now() - 7_200_000)
  t.match(await validated({}, await presigned(server, S3_ACCESS.AWS_SECRET_ACCESS_KEY, old)), {
    code: 2,
    stderr: /403/,
  })
})

/** An address that is valid for an hour, by the reference of Signature Version 4 and not by the gateway's own means. */
async function presigned({ origin, bucket }: S3Server, secret: string, at = new Date()): Promise<string> {
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`
  const query = new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${S3_ACCESS.AWS_ACCESS_KEY_ID}/${scope}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': '3600',
    'X-Amz-SignedHeaders': 'host',
  })
  const path = `/${bucket}/gateway.yaml`
  const asked = ['GET', path, query, `host:${new URL(origin).host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n')
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`)
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(asked).digest('hex')].join('\n')
  query.set('X-Amz-Signature', hmac(key, text).toString('hex'))
  return `${origin}${path}?${query}`
}
