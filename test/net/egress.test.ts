import type { LookupAddress } from 'node:dns'
import t, { type Test } from 'tap'
import { Secret } from '../../src/core/secret.js'
import { Egress } from '../../src/net/egress.js'
import { Names } from '../../src/net/names.js'
import { proxyFor } from '../../src/net/proxy.js'
import { ClientPool } from '../../src/transport/client/pool.js'
import { json } from '../helpers/answers.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { ask } from '../transport/heard.js'

const PROXY = { origin: 'http://proxy.example:3128' }

/** An entry of NO_PROXY, an address that it exempts, and one that it does not. */
const EXCEPTIONS: readonly (readonly [string, string, string])[] = [
  ['example.com', 'https://example.com/', 'https://notexample.com/'],
  ['example.com', 'https://a.b.example.com/', 'https://example.com.evil/'],
  ['.example.com', 'https://a.example.com/', 'https://example.org/'],
  ['*.example.com', 'https://a.example.com/', 'https://example.org/'],
  ['EXAMPLE.com', 'https://example.com./', 'https://example/'],
  ['localhost.', 'http://localhost/', 'http://localhost.example/'],
  ['example.com:8443', 'https://example.com:8443/', 'https://example.com/'],
  ['example.com:443', 'https://example.com/', 'http://example.com/'],
  ['10.0.0.0/8', 'http://10.1.2.3/', 'http://11.0.0.1/'],
  ['10.0.0.1', 'http://10.0.0.1:8080/', 'http://10.0.0.10/'],
  ['127.0.0.1', 'http://0x7f.1/', 'http://127.0.0.2/'],
  ['fd00::/8', 'http://[fd00::1]/', 'http://[fe00::1]/'],
  ['[::1]:80', 'http://[::1]/', 'http://[::1]:81/'],
  ['*', 'https://anything.example/', ''],
]

t.test('F-P11 exceptions from the proxy are as other programs read NO_PROXY', async t => {
  for (const [entry, exempt, other] of EXCEPTIONS) {
    const rules = { https: PROXY, http: PROXY, except: ['first.example', entry], isFromEnvironment: false }
    t.equal(proxyFor(rules, new URL(exempt)), undefined, `${entry} exempts ${exempt}`)
    if (other !== '') t.equal(proxyFor(rules, new URL(other)), PROXY, `${entry} does not exempt ${other}`)
  }
  t.equal(proxyFor({ https: PROXY, except: [], isFromEnvironment: true }, new URL('http://a.example')), undefined)
})

t.test('what decides where connections go decides which pools are shared, secrets included', async t => {
  const digest = (password: string, age = 1): string => {
    const server = { ...PROXY, user: 'u', password: new Secret(password) }
    return new Egress({ proxy: { https: server, except: [], isFromEnvironment: false }, pool: { age } }).digest
  }
  t.equal(digest('a'), digest('a'))
  t.not(digest('a'), digest('b'))
  t.not(digest('a'), digest('a', 2))
})

type Found = (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]) => void

/** A name server of the test's own, as Node's resolver shows it. */
function nameServer(): { names: Names; asked: () => number; say: (what: readonly string[] | string | 'hang') => void } {
  let count = 0
  let what: readonly string[] | string = 'ENOTFOUND'
  const names = new Names((_host: string, done: Found) => {
    count++
    const said = what
    if (said === 'hang') return
    setImmediate(() => {
      if (typeof said === 'string') done(Object.assign(new Error(said), { code: said }), [])
      else
        done(
          null,
          said.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
        )
    })
  })
  return {
    names,
    asked: () => count,
    say: to => {
      what = to
    },
  }
}

const lookUp = (names: Names, options: object): Promise<unknown> =>
  new Promise(resolve => {
    names.lookup('host.example', options, (error, address, family) =>
      resolve(error?.code ?? (family === undefined ? address : [address, family])),
    )
  })

t.test(
  'F-P11 names: all addresses, one family, one look-up at a time, the last good ones while the server fails',
  async t => {
    const { names, asked, say } = nameServer()
    t.equal(await lookUp(names, { all: true }), 'ENOTFOUND')
    say('EAI_AGAIN')
    t.equal(await lookUp(names, {}), 'EAI_AGAIN')
    say(['::1', '127.0.0.2'])
    const before = asked()
    t.same(await Promise.all([lookUp(names, { all: true }), lookUp(names, { family: 4 }), lookUp(names, {})]), [
      [
        { address: '::1', family: 6 },
        { address: '127.0.0.2', family: 4 },
      ],
      ['127.0.0.2', 4],
      ['::1', 6],
    ])
    t.equal(asked(), before + 1)
    say('EAI_AGAIN')
    t.same(await lookUp(names, { family: 4 }), ['127.0.0.2', 4])
    say('ENOTFOUND')
    t.equal(await lookUp(names, { family: 4 }), 'ENOTFOUND', 'a name that is gone is gone')
  },
)

/** A pool to a host of the name server's, whose connections may be `ageMs` old. */
async function poolTo(t: Test, names: Names, port: number, ageMs?: number): Promise<ClientPool> {
  const options = { lookup: names.lookup, ...(ageMs === undefined ? {} : { ageMs }) }
  const pool = new ClientPool(`http://host.example:${port}`, 5000, options)
  t.teardown(() => pool.destroy())
  return pool
}

t.test('F-P11 a host that moves is followed once its connections have their age', async t => {
  const first = await startRawUpstream(t, { host: '127.0.0.1' })
  first.answer(json('first'))
  const { port } = first
  const { names, say } = nameServer()
  say(['127.0.0.1'])
  const pool = await poolTo(t, names, port, 50)
  t.equal((await ask(pool)).body, '"first"')
  say(['127.0.0.99'])
  // Not yet: the connection is young, or the address that is dead now is asked.
  const until = performance.now() + 50
  let body: unknown
  do body = (await ask(pool)).body
  while (performance.now() < until && body === '"first"')
  t.not((await ask(pool)).body, '"first"', 'the former address is no longer asked, though it answers')
  t.equal(first.connections.items.length, 1)
})

t.test('of several addresses the first that answers is taken (RFC 8305)', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json('ok'))
  const { names, say } = nameServer()
  say(['::1', '127.0.0.77', '127.0.0.1'])
  const pool = await poolTo(t, names, upstream.port)
  t.equal((await ask(pool)).body, '"ok"')
})
