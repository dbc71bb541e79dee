import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { credentialContract } from '../../src/contracts/index.js'
import type { CredentialModule } from '../../src/core/module-credential.js'
import { command } from '../cli/in-process.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

// Credentials by modules of a user's own, loaded from files, over real sockets.

const SECRET = canary('upstream')

async function start(
  t: Test,
  module: string,
  more = '',
  watch = false,
): Promise<{ readonly gateway: TestGateway; readonly up: RawUpstream }> {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const files = { 'mine.mjs': module }
  return { gateway: await startTestGateway(t, yamlOf(up, more), { files, env: { SECRET }, watch }), up }
}

function yamlOf({ origin }: RawUpstream, more: string): string {
  return `version: 1
${CALLER}
upstreams:
  up: { base: "${origin}", credential: { type: ./mine.mjs${more} }, speaks: { chat: POST /v1/chat/completions } }
models: { m: up }
`
}

t.test(
  'a token is fetched once for all who wait, is sent where the file says, and is fetched anew after a 401',
  async t => {
    const module = `
let number = 0
export const openCredential = ({ name }, { secret, origin, warn }) => ({
  async get() {
    await new Promise(resolve => setImmediate(resolve))
    warn('fetched ' + ++number + ' for ' + name + ' ' + (secret !== undefined) + ' ' + origin)
    return { token: secret + '-' + number, expires: new Date(Date.now() + 3600_000) }
  },
})`
    const more = ', options: { name: me }, secret: { env: SECRET }, name: x-token, scheme: Token'
    const { gateway, up } = await start(t, module, more)
    const answers = await Promise.all(Array.from({ length: 8 }, () => gateway.chat()))
    t.same([...new Set(answers.map(({ status }) => status))], [200])
    t.same([...new Set(up.requests.items.map(one => one.header('x-token')))], [`Token ${SECRET}-1`])
    up.answer(json({ error: { message: 'expired' } }, { status: 401 }), json(CHAT_ANSWER))
    const before = up.requests.items.length
    t.equal((await gateway.chat()).status, 200, 'the client hears nothing of it')
    t.same(
      up.requests.items.slice(before).map(one => one.header('x-token')),
      [`Token ${SECRET}-1`, `Token ${SECRET}-2`],
    )
    t.same(
      gateway.log.items.filter(one => one.msg === 'a module warns').map(one => one.cause),
      [1, 2].map(number => `fetched ${number} for me true ${up.origin}`),
    )
    up.answer(json({ error: { message: `you sent ${SECRET}-2` } }, { status: 400 }))
    t.notMatch((await gateway.chat()).text, SECRET, 'what an upstream repeats is hidden')
  },
)

t.test('headers replace those of clients, and each request is signed with what is sent', async t => {
  const module = `
import { createHmac } from 'node:crypto'
export const openCredential = () => ({
  get: () => ({ headers: { 'X-Tenant': '${SECRET}', 'x-account': 'seven' } }),
  sign({ method, url, headers, sha256 }) {
    const text = [method, url, headers['x-account'], headers['content-type'], sha256()].join(' ')
    return { 'x-signature': createHmac('sha256', 'shared').update(text).digest('hex'), 'x-signed': Buffer.from(text).toString('base64') }
  },
})`
  const { gateway, up } = await start(t, module)
  t.equal((await gateway.chat({ n: 1 }, { headers: { 'x-tenant': 'forged', 'x-signature': 'forged' } })).status, 200)
  const [sent] = up.requests.items
  t.equal(sent?.header('x-tenant'), SECRET)
  t.equal(sent?.header('authorization'), undefined)
  const digest = createHash('sha256')
    .update(sent?.body ?? '')
    .digest('hex')
  t.equal(
    Buffer.from(sent?.header('x-signed') ?? '', 'base64').toString(),
    `POST ${up.origin}/v1/chat/completions seven application/json ${digest}`,
  )
  t.match(sent?.header('x-signature'), /^[0-9a-f]{64}$/)
})

t.test('a request that is refused is not sent again where the module only signs', async t => {
  const { gateway, up } = await start(
    t,
    "export const openCredential = () => ({ sign: () => ({ 'x-signature': 'one' }) })",
  )
  up.answer(json({ error: { message: 'refused' } }, { status: 401 }))
  await gateway.chat()
  await gateway.chat()
  t.equal(up.requests.items.length, 2, 'each once')
})

const BROKEN: Readonly<Record<string, readonly [members: string, cause: RegExp]>> = {
  throws: ['get() { throw new TypeError(secret) }', /TypeError at mine\.mjs:\d+/],
  rejects: ['async get() { throw secret }', /: an error$/],
  'never answers': ['get: () => new Promise(() => undefined)', /no answer within 50 ms/],
  nothing: ['get: () => undefined', /it gave no object/],
  'no credential': ['get: () => ({})', /neither token nor headers/],
  'a token with a line break': ["get: () => ({ token: secret + '\\r\\nx: y' })", /its token fits no header/],
  'a header with a line break': [
    "get: () => ({ headers: { x: secret + '\\n' } })",
    /the value of its header x fits no header/,
  ],
  'a header of the connection': ['get: () => ({ headers: { host: secret } })', /a header that may not be set/],
  'no time': ["get: () => ({ token: secret, expires: 'soon' })", /its expires is not a time/],
  expired: ['get: () => ({ token: secret, expires: 1 })', /has already expired/],
  'neither get nor sign': ['other() {}', /has neither get nor sign/],
  'sign throws': ['sign() { throw new RangeError(secret) }', /RangeError at mine/],
  'sign says nonsense': ['sign: () => 7', /its headers are not an object/],
}

t.test('a module that fails is reported, requests are refused, and nothing leaks', async t => {
  for (const [what, [members, cause]] of Object.entries(BROKEN)) {
    const module = `export const openCredential = (_, { secret }) => ({ ${members} })`
    const { gateway, up } = await start(t, module, ', secret: { env: SECRET }, timeout: 50ms')
    const answer = await gateway.chat()
    t.equal(answer.status, 502, what)
    t.notMatch(answer.text, /TypeError|mine\.mjs/, what)
    t.equal(up.requests.items.length, 0, what)
    const logged = await gateway.log.find(one => cause.test(JSON.stringify(one)) || cause.test(String(one.cause)))
    t.ok(logged, what)
  }
})

t.test(
  'a module that does not fit is an error at its line; the plan shows the module, and not its options',
  async t => {
    const yaml = `version: 1
keys: { k: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }
upstreams:
  up:
    base: https://up.example
    credential: { type: ./mine.mjs, options: { password: "${SECRET}" } }
    speaks: { chat: POST /v1/chat/completions }
models: { m: up }
`
    const folder = t.testdir({ 'gateway.yaml': yaml, 'mine.mjs': 'export const other = 1' })
    const file = join(folder, 'gateway.yaml')
    const { code, stdout } = await command(['validate', file])
    t.equal(code, 1)
    t.match(stdout, /gateway\.yaml:6:25 {2}upstreams\.up\.credential\.type .*exports no function openCredential/)
    const plan = (await command(['explain', file])).stdout
    t.match(plan, /authorization: Bearer \[credential of the module mine\.mjs\]/)
    const strays = join(
      t.testdir({ 'mine.mjs': '', 'gateway.yaml': yaml.replace('options:', 'command: [x], options:') }),
      'gateway.yaml',
    )
    t.match(
      (await command(['validate', '--no-modules', strays])).stdout,
      /"command" means nothing for a credential of type/,
    )
    const other = join(t.testdir({ 'gateway.yaml': yaml.replace('./mine.mjs', 'mine.mjs') }), 'gateway.yaml')
    const wrong = (await command(['validate', other])).stdout
    t.match(wrong, /credential\.type {2}expected header, query/)
    t.notMatch(stdout + plan + wrong.replaceAll(/^.*\|.*$/gm, ''), SECRET)
  },
)

t.test('changed options and a changed module take over with a reload', async t => {
  const module = (word: string): string =>
    `export const openCredential = ({ n }) => ({ get: () => ({ token: '${word}-' + n }) })`
  const { gateway, up } = await start(t, module('first'), ', options: { n: 1 }', true)
  const sent = async (): Promise<string | undefined> => {
    await gateway.chat()
    return up.requests.items.at(-1)?.header('authorization')
  }
  t.equal(await sent(), 'Bearer first-1')
  await gateway.write('gateway.yaml', yamlOf(up, ', options: { n: 2 }'))
  await gateway.log.find(one => one.msg === 'reloaded' && one.generation === 2)
  t.equal(await sent(), 'Bearer first-2')
  await gateway.write('mine.mjs', module('second'))
  await gateway.log.find(one => one.msg === 'reloaded' && one.generation === 3)
  t.equal(await sent(), 'Bearer second-2')
})

t.test('the contract that modules of strangers are tested with finds what is wrong', async t => {
  const cases: Readonly<Record<string, readonly [module: CredentialModule, failed: RegExp]>> = {
    good: [{ get: () => ({ token: 'x' }), sign: async () => ({ 'x-signature': 's' }) }, /^$/],
    expired: [{ get: () => ({ token: 'x', expires: 1 }) }, /^what it gives fits/],
    'used up': [once(), /^it gives a credential again/],
    'needs a body': [
      {
        sign: ({ sha256 }) => {
          const digest = sha256()
          if (digest === undefined) throw new Error('no body')
          return { 'x-signature': digest }
        },
      },
      /^it signs requests with a body/,
    ],
    nothing: [{}, /what it gives/],
  }
  for (const [name, [module, failed]] of Object.entries(cases)) t.match(await failures(module), failed, name)
})

function once(): CredentialModule {
  let left = 2
  return {
    get() {
      if (left-- === 0) throw new Error('used up')
      return { token: 'x' }
    },
  }
}

async function failures(module: CredentialModule): Promise<string> {
  const failed: string[] = []
  const cases: (() => Promise<void>)[] = []
  credentialContract(
    (title, run) => cases.push(() => run().catch(() => void failed.push(title))),
    () => module,
  )
  for (const run of cases) await run()
  return failed.join('\n')
}

proveNoLeak(t)
