import t from 'tap'
import { DEFAULTS } from '../../src/core/defaults.generated.js'
import { BASE, tryLoad } from './support.js'

t.test('nothing is fetched unless it is written', async t => {
  t.same((await tryLoad(t, BASE)).config?.media, {})
  t.same((await tryLoad(t, `${BASE}media: {}\n`)).config?.media, {})
})

t.test('a list of hosts is enough', async t => {
  const { config } = await tryLoad(t, `${BASE}media: { fetch: { allow: ["*"] } }\n`)
  t.same(config?.media, { fetch: { ...DEFAULTS.mediaFetch, allow: ['*'] } })
})

t.test('what is written goes over the defaults', async t => {
  const written = `allow: [127.0.0.2/32, "$\{HOST}"], http: true, ports: [8080], max: 1KiB, total: 2KiB, count: 3, timeout: 4s, redirects: 0`
  const { config } = await tryLoad(t, `${BASE}media: { fetch: { ${written} } }\n`, { env: { HOST: 'media.example' } })
  t.same(config?.media.fetch, {
    allow: ['127.0.0.2/32', 'media.example'],
    http: true,
    ports: [8080],
    max: 1024,
    total: 2048,
    count: 3,
    timeout: 4000,
    redirects: 0,
  })
})

for (const entry of [
  'https://a.example',
  'a.example/x',
  'a.example:80',
  '10.0.0.0/33',
  '0x7f.1',
  '127.1',
  '::1/129',
  'a b',
  '',
]) {
  t.test(`'${entry}' names nothing that could be fetched from`, async t => {
    const { config } = await tryLoad(t, `${BASE}media: { fetch: { allow: ["${entry}"] } }\n`)
    t.equal(config, undefined)
  })
}

for (const entry of [
  '*',
  '*.example.com',
  'a-b.example',
  'a.example.',
  '10.0.0.1',
  '10.0.0.0/8',
  '::1',
  '2001:db8::/32',
]) {
  t.test(`'${entry}' is something to fetch from`, async t => {
    const { config } = await tryLoad(t, `${BASE}media: { fetch: { allow: ["${entry}"] } }\n`)
    t.same(config?.media.fetch?.allow, [entry])
  })
}
