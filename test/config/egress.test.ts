import t, { type Test } from 'tap'
import { certificate } from '../helpers/certificates.js'
import { BASE, type Trial, tryLoad } from './support.js'

const DAY_MS = 86_400_000
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS)
const OWN = certificate('gateway', inDays(-1), inDays(400))
const OTHER = certificate('other', inDays(-1), inDays(400))
const OLD = certificate('old', inDays(-9), inDays(-1))

/** Line 6 of the file is the upstream's. */
function upstreamOf(t: Test, words: string, files: Readonly<Record<string, string>> = {}, env = {}): Promise<Trial> {
  const text = BASE.replace(
    'sim: { kind: simulator }',
    `sim: { kind: simulator, base: "https://sim.example", ${words} }`,
  )
  const pems = {
    'own.pem': OWN.cert,
    'own.key': OWN.key,
    'other.key': OTHER.key,
    'old.pem': OLD.cert,
    'old.key': OLD.key,
  }
  return tryLoad(t, { 'gateway.yaml': text, ...pems, ...files }, { env })
}

t.test('certificates and keys of upstreams are read, and fit each other', async t => {
  const { config, reported } = await upstreamOf(
    t,
    'tls: { ca: own.pem, certificate: own.pem, key: own.key, min_version: 1.3, server_name: x }',
  )
  t.same(reported, [])
  const { egress } = config?.upstreams.sim ?? {}
  t.match(egress?.tls, { minVersion: 'TLSv1.3', serverName: 'x' })
  t.equal(egress?.tls?.ca?.content.reveal(), OWN.cert)
  t.equal(egress?.tls?.key?.content.reveal(), OWN.key)
  t.notMatch(JSON.stringify(config?.upstreams), /PRIVATE KEY|CERTIFICATE/)
})

const FAULTS: readonly (readonly [string, string, RegExp])[] = [
  ['tls: { certificate: own.pem, key: other.key }', 'bad-certificate', /this key does not belong to the certificate/],
  ['tls: { certificate: own.key, key: own.key }', 'bad-certificate', /does not contain a PEM certificate/],
  ['tls: { certificate: own.pem, key: own.pem }', 'bad-certificate', /does not contain an unencrypted PEM private key/],
  ['tls: { certificate: none.pem, key: own.key }', 'unreadable-file', /cannot read this file/],
  ['tls: { ca: none.pem }', 'unreadable-file', /cannot read this file/],
  ['tls: { ca: own.key }', 'bad-certificate', /does not contain a PEM certificate/],
]

for (const [words, rule, message] of FAULTS) {
  t.test(`an error at its place: ${words}`, async t => {
    const { config, problems } = await upstreamOf(t, words)
    t.equal(config, undefined)
    t.equal(problems.length, 1)
    t.match(problems[0], { rule, message, severity: 'error', position: { line: 5 } })
    t.ok((problems[0]?.position.column ?? 0) > 50, 'the column is that of the file')
  })
}

t.test('a certificate that has expired is warned of, whosever it is', async t => {
  const { config, reported } = await upstreamOf(t, 'tls: { ca: old.pem, certificate: old.pem, key: old.key }')
  t.ok(config)
  t.same(
    reported.map(one => one.split(' ')[0]),
    ['certificate-validity', 'certificate-validity'],
  )
})

t.test(
  'a password comes from a variable, a file, or the address, where it is warned of if it is written there',
  async t => {
    const env = { PASSWORD: 'p@ss/word' }
    for (const words of [
      'proxy: "http://me:p%40ss%2Fword@proxy.example:3128"',
      'proxy: { url: "http://proxy.example:3128", user: me, password: { env: PASSWORD } }',
      'proxy: { url: "http://proxy.example:3128", user: me, password: { file: password } }',
    ]) {
      const { config, reported, text } = await upstreamOf(t, words, { password: 'p@ss/word\n' }, env)
      const server = config?.upstreams.sim?.egress?.proxy?.https
      t.match(server, { origin: 'http://proxy.example:3128', user: 'me' })
      t.equal(server?.password?.reveal(), 'p@ss/word')
      t.same(reported.length, words.includes('%40') ? 1 : 0)
      t.notMatch(text, /p%40ss|p@ss/)
    }
    const variable = await upstreamOf(t, 'proxy: "http://me:$' + '{PASSWORD}@proxy.example"', {}, { PASSWORD: 'plain' })
    t.same(variable.reported, [])
    t.equal(variable.config?.upstreams.sim?.egress?.proxy?.http?.password?.reveal(), 'plain')
  },
)

t.test('an upstream says more than egress, word by word', async t => {
  const text = BASE.replace(
    'sim: { kind: simulator }',
    'sim: { kind: simulator, base: "https://sim.example", tls: { min_version: 1.3 }, pool: { idle: 1s } }\n  near: { kind: simulator }',
  )
  const egress =
    'egress: { proxy: "http://proxy.example", tls: { ca: own.pem }, pool: { idle: 2s, age: 3s, connections: 7 } }\n'
  const { config, reported } = await tryLoad(t, { 'gateway.yaml': text + egress, 'own.pem': OWN.cert })
  t.same(reported, ['unused-upstream 6:3'])
  const { sim, near } = config?.upstreams ?? {}
  t.match(sim?.egress, {
    proxy: { https: { origin: 'http://proxy.example' } },
    pool: { idle: 1000, age: 3000, connections: 7 },
  })
  t.match(sim?.egress?.tls, { minVersion: 'TLSv1.3', ca: { path: /own\.pem$/ } })
  t.equal(near?.egress, undefined, 'the simulator inside is not reached by a network')
  t.match(config?.egress, { pool: { idle: 2000 } })
})

t.test('HTTP/2 without TLS is warned of', async t => {
  const text = BASE.replace(
    'sim: { kind: simulator }',
    'sim: { kind: simulator, base: "http://sim.example", http2: true }',
  )
  const { reported } = await tryLoad(t, text)
  t.same(reported, ['http2-without-tls 5:62'])
})
