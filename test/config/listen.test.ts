import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Networks } from '../../src/core/client-address.js'
import { packageRoot } from '../../src/core/package-root.js'
import { BASE, type Trial, tryLoad } from './support.js'

function pem(name: string): string {
  return readFileSync(join(packageRoot(), 'test/fixtures/tls', name), 'utf8')
}

function withTls(t: Test, cert: string, key: string): Promise<Trial> {
  const text = `${BASE}listen: { tls: { cert: ./tls/cert.pem, key: ./tls/key.pem } }\n`
  return tryLoad(t, { 'gateway.yaml': text, 'tls/cert.pem': cert, 'tls/key.pem': key })
}

t.test('certificate and key are read, with their paths', async t => {
  const { config, folder } = await withTls(t, pem('first.pem'), pem('first.key'))
  t.equal(config?.listen.tls?.cert.path, join(folder, 'tls/cert.pem'))
  t.equal(config?.listen.tls?.key.content.reveal(), pem('first.key'))
  t.notMatch(JSON.stringify(config), 'PRIVATE KEY')
})

t.test('F-P3 an invalid certificate is reported at its place', async t => {
  const { text } = await withTls(t, 'nonsense', pem('first.key'))
  t.match(text, 'gateway.yaml:8:24  listen.tls.cert  this file does not contain a PEM certificate')
})

t.test('F-P3 an invalid key is reported at its place', async t => {
  const { reported } = await withTls(t, pem('first.pem'), 'nonsense')
  t.same(reported, ['bad-certificate 8:45'])
})

t.test('F-P3 a key of another certificate is reported at its place', async t => {
  const { text } = await withTls(t, pem('first.pem'), pem('second.key'))
  t.match(text, 'this key does not belong to the certificate')
})

t.test('origins are taken as browsers send them', async t => {
  const { config } = await tryLoad(
    t,
    `${BASE}listen: { cors: { origins: ["https://app.example", "http://localhost:3000", "*"] } }\n`,
  )
  t.same(config?.listen.cors?.origins, ['https://app.example', 'http://localhost:3000', '*'])
})

t.test('an origin of another form is reported, with the one that was meant', async t => {
  const { text } = await tryLoad(t, `${BASE}listen: { cors: { origins: ["https://APP.example:443"] } }\n`)
  t.match(text, 'did you mean "https://app.example"?')
})

t.test('networks of mapped addresses are those of IPv4, and one wider than them is refused', async t => {
  const trial = (network: string): Promise<Trial> => tryLoad(t, `${BASE}listen: { trusted_proxies: ["${network}"] }\n`)
  for (const [network, own, other] of [
    ['::ffff:10.0.0.0/104', '10.1.2.3', '11.0.0.1'],
    ['::ffff:a00:0/104', '10.1.2.3', '11.0.0.1'],
    ['0:0:0:0:0:FFFF:192.0.2.10', '192.0.2.10', '192.0.2.11'],
  ] as const) {
    t.equal((await trial(network)).text, '', network)
    const networks = new Networks([network])
    t.ok(networks.has(own), network)
    t.notOk(networks.has(other), network)
  }
  const { text } = await trial('::ffff:10.0.0.0/8')
  t.match(text, 'gateway.yaml:8:29  listen.trusted_proxies[0]  expected an address or a network')
  t.match(text, 'did you mean "10.0.0.0/8"?')
  t.match((await trial('::ffff:a00:0/95')).text, 'expected an address or a network')
  t.ok(new Networks(['::/8']).has('::1'))
})

t.test('the backlog is a count, 4,096 unless the file says otherwise', async t => {
  t.equal((await tryLoad(t, BASE)).config?.listen.backlog, 4096)
  t.equal((await tryLoad(t, `${BASE}listen: { backlog: 128 }\n`)).config?.listen.backlog, 128)
  t.match((await tryLoad(t, `${BASE}listen: { backlog: 0 }\n`)).text, /gateway\.yaml:8:20 {2}listen\.backlog/)
})

t.test('a variable that is empty does not open a listener to the network', async t => {
  const trial = (host: string, section = 'listen'): Promise<Trial> =>
    tryLoad(t, `${BASE}${section}: { host: "${host}" }\n`, { env: { GW_HOST: '' } })
  for (const section of ['listen', 'admin']) {
    const [empty, said] = [await trial(`$\{GW_HOST}`, section), await trial(`$\{GW_HOST:-}`, section)]
    t.match(empty.text, `${section}.host  the variable GW_HOST is empty; set it, or write a default`)
    t.match(said.text, `${section}.host  an empty host would be every address`)
    t.same([empty.config, said.config], [undefined, undefined])
  }
  t.equal((await trial(`$\{GW_HOST:-127.0.0.1}`)).config?.listen.host, '127.0.0.1')
  const given = await tryLoad(t, BASE, { overrides: { host: '' } })
  t.match(given.text, 'an empty host would be every address', 'of the command line, too')
})
