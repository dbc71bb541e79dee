import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { withoutNginx } from '../helpers/fronts.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { find, launch, skipping } from '../helpers/store-servers.js'

/** The ways out, against servers that others wrote: nginx with client certificates and HTTP/2, tinyproxy. */

const NGINX = find('nginx', ['/usr/sbin', '/usr/local/sbin'])
const TINYPROXY = find('tinyproxy', ['/usr/sbin'])
const withoutTinyproxy = skipping(TINYPROXY, 'tinyproxy')
const PASSWORD = 'the password of the proxy'

function folderFor(test: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

interface Nginx {
  readonly port: number
  /** `protocol verified` of each request. */
  readonly served: () => readonly string[]
}

/** An upstream that accepts clients that the authority knows, and says goodbye to each connection after five requests. */
async function startNginx(test: Test, authority: Authority): Promise<Nginx> {
  const folder = folderFor(test, 'nginx')
  const { cert, key } = authority.issue('DNS:upstream.test')
  for (const [name, text] of Object.entries({ 'server.pem': cert, 'server.key': key, 'ca.pem': authority.cert })) {
    writeFileSync(join(folder, name), text)
  }
  const log = join(folder, 'access.log')
  const { port } = await launch(test, first => {
    const config = [
      'daemon off; master_process off; worker_processes 1;',
      `pid ${folder}/pid; error_log ${folder}/error.log crit; events { worker_connections 1024; }`,
      `http { ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}`,
      `log_format short '$server_protocol $ssl_client_verify $ssl_protocol'; access_log ${log} short;`,
      `server { listen 127.0.0.1:${first} ssl http2; keepalive_requests 5;`,
      `ssl_certificate ${folder}/server.pem; ssl_certificate_key ${folder}/server.key;`,
      `ssl_client_certificate ${folder}/ca.pem; ssl_verify_client on; ssl_protocols TLSv1.2 TLSv1.3;`,
      `location / { default_type application/json; return 200 '${JSON.stringify(CHAT_ANSWER)}'; } } }`,
    ]
    writeFileSync(join(folder, 'nginx.conf'), config.join('\n'))
    return { command: NGINX ?? 'nginx', args: ['-p', folder, '-c', join(folder, 'nginx.conf')] }
  })
  return {
    port,
    served: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line !== ''),
  }
}

async function gatewayTo(test: Test, authority: Authority, port: number, words: string): Promise<TestGateway> {
  const { cert, key } = authority.issue('DNS:gateway')
  const tls = 'tls: { ca: ca.pem, certificate: own.pem, key: own.key, server_name: upstream.test }'
  const up = upstreamYaml(`https://127.0.0.1:${port}`, `${tls}${words}`)
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n  up: ${up}\nmodels: { m: up }\n`
  const files = { 'ca.pem': authority.cert, 'own.pem': cert, 'own.key': key }
  return await startTestGateway(test, yaml, { files, env: { PROXY_PASSWORD: PASSWORD } })
}

for (const [words, protocol] of [
  ['', 'HTTP/1.1'],
  [', http2: true', 'HTTP/2.0'],
] as const) {
  t.test(`nginx with client certificates: ${protocol}`, { skip: withoutNginx || withoutOpenssl }, async t => {
    const authority = new Authority(t)
    const { port, served } = await startNginx(t, authority)
    const gateway = await gatewayTo(t, authority, port, words)
    for (let i = 0; i < 12; i++) t.equal((await gateway.chat()).status, 200)
    const answers = await Promise.all(Array.from({ length: 60 }, () => gateway.chat()))
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]), 'goodbyes cost no request')
    t.equal(served().length, 72, 'none was sent twice')
    t.same(new Set(served()), new Set([`${protocol} SUCCESS TLSv1.3`]))
  })
}

async function startTinyproxy(test: Test, allowed: number): Promise<number> {
  const folder = folderFor(test, 'tinyproxy')
  const { port } = await launch(test, first => {
    const config = [
      `Port ${first}`,
      'Listen 127.0.0.1',
      'Timeout 60',
      `PidFile "${folder}/pid"`,
      `LogFile "${folder}/log"`,
      'MaxClients 50',
      `BasicAuth gateway ${PASSWORD.replaceAll(' ', '_')}`,
      `ConnectPort ${allowed}`,
    ]
    writeFileSync(join(folder, 'tinyproxy.conf'), `${config.join('\n')}\n`)
    return { command: TINYPROXY ?? 'tinyproxy', args: ['-d', '-c', join(folder, 'tinyproxy.conf')] }
  })
  return port
}

t.test('tinyproxy with a login before nginx', { skip: withoutTinyproxy || withoutNginx || withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const { port, served } = await startNginx(t, authority)
  const proxy = `http://127.0.0.1:${await startTinyproxy(t, port)}`
  const password = PASSWORD.replaceAll(' ', '_')
  const way = (login: string): string => `, proxy: "${proxy.replace('://', `://${login}`)}"`
  for (const words of ['', ', http2: true']) {
    const gateway = await gatewayTo(t, authority, port, way(`gateway:${password}@`) + words)
    for (let i = 0; i < 3; i++) t.equal((await gateway.chat()).status, 200)
  }
  t.equal(served().length, 6)
  for (const login of ['', 'gateway:wrong@']) {
    const refused = await (await gatewayTo(t, authority, port, way(login))).chat()
    t.match(refused.json(), { error: { message: /the proxy on the way to it failed/ } })
  }
  const closed = await startTinyproxy(t, 1)
  const elsewhere = await gatewayTo(t, authority, port, `, proxy: "http://gateway:${password}@127.0.0.1:${closed}"`)
  t.equal((await elsewhere.chat()).status, 502)
  const line = await elsewhere.log.find(({ msg }) => msg === 'request')
  t.match(JSON.stringify(line), /"proxy"/)
  t.notMatch(JSON.stringify(elsewhere.log.items), new RegExp(password))
  t.equal(served().length, 6)
})
