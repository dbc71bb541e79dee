import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Egress } from '../../src/net/egress.js'
import { fetchHttp } from '../../src/runtime/source/http.js'
import { RemoteSource } from '../../src/runtime/source/remote.js'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.js'
import { run, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'
import { ADDRESS, ENV, Fleet, models, SERVED, signer } from './fleet.js'
import { command } from './in-process.js'

t.test(
  'a fleet follows an address: one digest, conditional requests, and the last good document where a new one is bad',
  async t => {
    const server = await startDocumentServer(t)
    server.documents.set('/gateway.yaml', Buffer.from(SERVED))
    const address = `${server.origin}/gateway.yaml?token=presigned`
    const [one, crew] = [await Fleet.join(t, address), await Fleet.join(t, address, '--workers', '2')]
    const [origin, other] = [await one.origin(), await crew.origin()]
    const digest = await one.metric('gateway_config_info')
    t.match(digest, /digest="[0-9a-f]{16}"/)
    t.equal(await crew.metric('gateway_config_info'), digest, 'a process alone and workers')
    await server.asked.count(2, ({ status }) => status === 304)

    server.documents.set('/gateway.yaml', Buffer.from(SERVED.replace('sim-text', 'newer')))
    for (const { bin } of [one, crew]) await bin.until(/"reloaded"/)
    t.same(await models(origin), ['newer'])
    t.same(await models(other), ['newer'])
    const next = await one.metric('gateway_config_info')
    t.not(next, digest)
    t.equal(await crew.metric('gateway_config_info'), next)

    server.documents.set('/gateway.yaml', Buffer.from(SERVED.replace('kind: simulator', 'kidn: simulator')))
    for (const { bin } of [one, crew]) {
      const [line] = await bin.until(/^.*reload failed.*$/m)
      t.match(line, `"at":"${server.origin}/gateway.yaml:6:10"`, 'the place in the document')
      t.notMatch(bin.stderr, 'presigned', 'a query may be a credential')
    }
    t.same(await models(origin), ['newer'])
    for (const fleet of [one, crew]) {
      t.match(await fleet.metric('gateway_config_valid'), /valid 0$/)
      t.match(await fleet.metric('gateway_config_fetches_total'), /result="changed"\} 2$/m)
    }

    server.documents.set('/gateway.yaml', 503)
    await one.bin.until(/cannot be fetched; the last one stays/)
    server.documents.set('/gateway.yaml', Buffer.from(SERVED.replace('sim-text', 'newest')))
    await one.bin.until(/"reloaded","generation":3/)
    t.same(await models(origin), ['newest'])
    t.match(await one.metric('gateway_config_valid'), /valid 1$/)
  },
)

function put({ documents }: DocumentServer, text: string, signature: Buffer): void {
  documents.set('/gateway.yaml.sig', signature)
  documents.set('/gateway.yaml', Buffer.from(text))
}

t.test('a document without a good signature is refused, and the one before serves', async t => {
  const server = await startDocumentServer(t)
  const { folder, sign } = signer(t)
  put(server, SERVED, sign(SERVED))
  const keys = ['--signed-by', join(folder, 'other.pem'), '--signed-by', join(folder, 'fleet.pem')]
  const fleet = await Fleet.join(t, `${server.origin}/gateway.yaml`, ...keys)
  const origin = await fleet.origin()
  const forged = SERVED.replace('sim-text', 'forged')
  put(server, forged, sign(SERVED))
  const [line] = await fleet.bin.until(/^.*reload failed.*$/m)
  t.match(line, 'its signature is not by any of the keys')
  t.match(line, `${server.origin}/gateway.yaml:1:1`)
  t.same(await models(origin), ['sim-text'])
  t.match(await fleet.metric('gateway_config_valid'), /valid 0$/)
  t.match(await fleet.metric('gateway_config_problems{severity="error"}'), / 1$/)
  put(server, forged, Buffer.from(`${sign(forged).toString('base64')}\n`))
  await fleet.bin.until(/"reloaded"/)
  t.same(await models(origin), ['forged'])
  t.match(await fleet.metric('gateway_config_fetches_total{result="refused"}'), / [1-9]/)
})

t.test('a gateway starts without network from the last good document, if that is the declared one', async t => {
  const server = await startDocumentServer(t)
  server.documents.set('/gateway.yaml', Buffer.from(SERVED))
  const address = `${server.origin}/gateway.yaml`
  const cwd = t.testdir({})
  const args = ['serve', address, '--port', '0', '--admin-port', '0', '--cache', 'kept']
  const first = start(t, args, { cwd, env: ENV })
  await first.until(ADDRESS)
  first.child.kill('SIGTERM')
  await first.ended
  const [file = '', ...others] = readdirSync(join(cwd, 'kept'))
  t.same(others, [], 'one file')
  t.equal(statSync(join(cwd, 'kept', file)).mode & 0o777, 0o600)

  server.documents.set('/gateway.yaml', Buffer.from('version: 1\nmodles: {}\n'))
  const invalid = start(t, args, { cwd, env: ENV })
  await invalid.until(/gateway\.yaml:2:1[\s\S]*is not valid; the last good document is used/)
  t.same(await models((await invalid.until(ADDRESS))[1] ?? ''), ['sim-text'])

  await server.close()
  const second = start(t, args, { cwd, env: ENV })
  await second.until(/ECONNREFUSED.*the last good document is used/)
  t.same(await models((await second.until(ADDRESS))[1] ?? ''), ['sim-text'])
  const declared = await run([...args, '--digest', '0'.repeat(64)], { cwd, env: ENV })
  t.match(declared, { code: 2, stderr: /gateway\.yaml:1:1 {2}.*ECONNREFUSED/ })
  writeFileSync(join(cwd, 'kept', file), '{"document":')
  t.match(await run(args, { cwd, env: ENV }), { code: 2, stderr: /ECONNREFUSED/ }, 'a broken file is not used')
})

t.test('validate and explain read an address, and say what is wrong with it', async t => {
  const server = await startDocumentServer(t)
  const { folder, sign } = signer(t)
  const at = (path: string): string => `${server.origin}${path}`
  const env = { TEST_KEY }
  put(server, GOOD, sign(GOOD))
  const { documents } = server
  documents.set('/bad.yaml', Buffer.from(GOOD.replace('sim-text: sim', 'sim-text: simm')))
  documents.set('/large.yaml', Buffer.alloc(1024 * 1024 + 1, '#'))
  documents.set('/moved.yaml', 302)
  documents.set('/binary.yaml', Buffer.from([0xff, 0xfe, 0xff]))
  const good = createHash('sha256').update(GOOD).digest('hex')
  const signed = ['--signed-by', join(folder, 'fleet.pem')]
  t.match(await command(['explain', at('/gateway.yaml')], { env }), { code: 0, stdout: /sim-text/ })
  const cases: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [[at('/gateway.yaml?sig=hidden')], 0, /^http:\/\/127\.0\.0\.1:\d+\/gateway\.yaml is valid/],
    [[at('/gateway.yaml'), '--digest', `sha256:${good}`, ...signed], 0, /is valid/],
    [[at('/bad.yaml')], 1, /^http:\/\/[\d.:]+\/bad\.yaml:9:13 [\s\S]*did you mean "sim"/],
    [[at('/gateway.yaml'), '--digest', `sha256:${'0'.repeat(64)}`], 1, /gateway\.yaml:1:1 {2}its digest is sha256:/],
    [[at('/gateway.yaml'), '--signed-by', join(folder, 'other.pem')], 1, /not by any of the keys/],
    [[at('/bad.yaml'), ...signed], 2, /its signature: the server answered 404/],
    [[at('/large.yaml')], 1, /has more than 1048576 bytes/],
    [[at('/moved.yaml')], 2, /answered 302; redirects are not followed/],
    [[at('/absent.yaml')], 2, /the server answered 404/],
    [[at('/binary.yaml')], 1, /it is not UTF-8/],
    [['http://config.example/gateway.yaml'], 2, /give --digest or --signed-by, or use https/],
    [['https://me:secret@config.example/gateway.yaml'], 2, /--bearer-env/],
    [[at('/gateway.yaml'), '--bearer-env', 'ABSENT'], 2, /ABSENT of --bearer-env is not set/],
    [[at('/gateway.yaml'), '--signed-by', join(folder, 'absent.pem')], 2, /absent\.pem cannot be read as a public key/],
    [['git+https://git.example/fleet.git'], 2, /git\+https:\/\/HOST\/REPOSITORY#REVISION:PATH/],
  ]
  for (const [args, code, said] of cases) {
    const result = await command(['validate', ...args], { env })
    t.equal(result.code, code, `${args.join(' ')}: ${result.stderr}`)
    t.match(result.stdout + result.stderr, said)
    t.notMatch(result.stdout + result.stderr, /hidden|secret@/)
  }
})

t.test('a server that does not answer is given up', async t => {
  const server = await startDocumentServer(t)
  server.documents.set('/slow.yaml', 'hang')
  const egress = new Egress({ pool: {} })
  const terms = { egress, fetch: fetchHttp, timeoutMs: 100, poll: 1000, proof: { keys: [] } }
  const source = new RemoteSource({ ...terms, address: `${server.origin}/slow.yaml` })
  await t.rejects(source.open(), { name: 'SourceFault', kind: 'failed', message: 'no answer in time' })
})

t.test('https, through the proxy of the environment, with a bearer token', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const server = await startDocumentServer(t, authority.issue('DNS:localhost'))
  server.documents.set('/gateway.yaml', Buffer.from(GOOD))
  const to = { host: '127.0.0.1', port: Number(new URL(server.origin).port) }
  const proxy = await startConnectProxy(t, { to: () => to })
  const args = ['validate', `${server.origin}/gateway.yaml`, '--bearer-env', 'TOKEN']
  const env = { TEST_KEY, TOKEN: 'of-the-fleet', HTTPS_PROXY: proxy.origin }
  const ca = { NODE_EXTRA_CA_CERTS: join(authority.folder, 'ca.pem') }
  t.match(await run(args, { env: { ...env, ...ca } }), { code: 0, stdout: /is valid/ })
  t.match(proxy.asked.items, [{ authority: new URL(server.origin).host }])
  t.match(server.asked.items, [{ authorization: 'Bearer of-the-fleet' }])
  t.match(await run(args, { env }), { code: 2, stderr: /certificate/ }, 'an authority that no one trusts')
})

t.test('a revision of a git repository elsewhere is followed', async t => {
  const { folder, sign } = signer(t)
  const cwd = join(folder, 'repository')
  mkdirSync(cwd)
  const git = (...args: readonly string[]): void => {
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example', ...args], { cwd, stdio: 'pipe' })
  }
  const commit = (text: string): void => {
    writeFileSync(join(cwd, 'gateway.yaml'), text)
    writeFileSync(join(cwd, 'gateway.yaml.sig'), sign(text))
    git('add', '.')
    git('commit', '--quiet', '-m', 'a change')
  }
  git('init', '--quiet', '-b', 'main')
  commit(SERVED)
  git('tag', '-a', 'v1', '-m', 'first')
  // git lists it for `main`, too.
  git('branch', 'feature/main')
  const address = (revision: string, path = 'gateway.yaml'): string => `git+file://${cwd}#${revision}:${path}`
  const fleet = await Fleet.join(t, address('main'), '--signed-by', join(folder, 'fleet.pem'))
  const origin = await fleet.origin()
  commit(SERVED.replace('sim-text', 'newer'))
  await fleet.bin.until(/"reloaded"/)
  t.same(await models(origin), ['newer'])
  const env = { TEST_KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  t.match(await command(['explain', address('v1')], { env }), { code: 0, stdout: /sim-text/ })
  t.match(await command(['validate', address('absent')], { env }), { code: 2, stderr: /the repository has no absent/ })
  t.match(await command(['validate', address('main', 'absent.yaml')], { env }), { code: 2, stderr: /git: / })
})
