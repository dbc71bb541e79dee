import t, { type Test } from 'tap'
import { certificate } from '../helpers/certificates.js'
import { BASE, type Trial, tryLoad } from './support.js'

const DAY_MS = 86_400_000
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS)

/** Days from now at which a certificate begins and ends, and what is said of it. */
const VALIDITY: readonly (readonly [string, number, number, RegExp | undefined])[] = [
  ['has expired', -400, -1, /warning: the certificate of CN=gateway\.example expired on \d{4}-\d\d-\d\dT\d\d:\d\dZ/],
  ['is not valid yet', 1, 400, /warning: the certificate of CN=gateway\.example is not valid before \d{4}-/],
  ['ends in 13 days', -1, 13.5, /warning: the certificate of CN=gateway\.example expires on \d{4}-.*, in 13 days/],
  ['ends within the day', -1, 0.5, /in less than a day/],
  ['ends in 15 days', -1, 15, undefined],
]

function listenerOf(t: Test, cert: string, key: string): Promise<Trial> {
  const text = `${BASE}listen: { tls: { cert: cert.pem, key: key.pem } }\n`
  return tryLoad(t, { 'gateway.yaml': text, 'cert.pem': cert, 'key.pem': key })
}

function authorityOf(t: Test, ca: string): Promise<Trial> {
  const text = `${BASE}store: { type: redis, hosts: ["127.0.0.1:6379"], tls: { ca: ca.pem } }\n`
  return tryLoad(t, { 'gateway.yaml': text, 'ca.pem': ca })
}

for (const [what, from, to, said] of VALIDITY) {
  const { cert, key } = certificate('gateway.example', inDays(from), inDays(to))
  t.test(`a listener's certificate that ${what} is ${said === undefined ? 'taken' : 'warned of'}`, async t => {
    const { config, reported, text } = await listenerOf(t, cert, key)
    t.ok(config, 'a warning, no error')
    t.same(reported, said === undefined ? [] : ['certificate-validity 8:24'])
    if (said !== undefined) t.match(text, said)
  })
  t.test(`an authority's certificate that ${what} is ${said === undefined ? 'taken' : 'warned of'}`, async t => {
    const { config, reported, text } = await authorityOf(t, cert)
    t.ok(config)
    t.same(reported, said === undefined ? [] : ['certificate-validity 8:61'])
    if (said !== undefined) t.match(text, said)
  })
}

t.test('each certificate of a file counts, and what is not a certificate does not', async t => {
  const good = certificate('good.example', inDays(-1), inDays(400)).cert
  const bad = certificate('bad.example', inDays(-9), inDays(-8)).cert
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const { text } = await authorityOf(t, `# authorities\n${good}${broken}${bad}${bad}`)
  t.match(text, /the certificate of CN=bad\.example expired on .*; so are 1 more in this file/)
})
