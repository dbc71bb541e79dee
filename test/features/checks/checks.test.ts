import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkContract } from '../../../src/contracts/index.js'
import type { Check, CheckedRequest } from '../../../src/core/check.js'
import { loadExport } from '../../../src/core/load-module.js'
import { OpenedCheck } from '../../../src/features/checks/opened-check.js'
import { command } from '../../cli/in-process.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { canary, proveNoLeak } from '../../helpers/canaries.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { startIssuer } from '../../helpers/issuer.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

// Checks of requests by modules of a user's own, loaded from files, over real sockets.

const SECRET = canary('upstream')

/** Refuses what has one of the words of its options; says what it sees by the header x-show. */
const WORDS = `
export function openCheck({ words }, { warn }) {
  if (words.length === 0) warn('there are no words')
  return {
    async check(request) {
      const body = await request.body()
      const found = words.find(word => JSON.stringify(body ?? '').includes(word))
      return found === undefined ? 'pass' : { refuse: 'The word ' + found + ' is not allowed.', status: 422 }
    },
  }
}
`

/** Refuses everything, and says in its reason what it sees; the body is not read. */
const SHOWS = `
export const openCheck = () => ({
  check({ id, caller, route, operation, model, stream, headers }) {
    const { 'x-shown': shown, ...rest } = headers
    const secret = Object.keys(rest).filter(name => /auth|key|cookie/.test(name))
    return { refuse: JSON.stringify({ caller, route, operation, model, stream, shown, secret, id: typeof id }) }
  },
})
`

interface Started {
  readonly gateway: TestGateway
  readonly up: RawUpstream
}

async function start(
  t: Test,
  checks: string,
  files: Readonly<Record<string, string>>,
  more: { readonly watch?: boolean; readonly yaml?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Started> {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = oneUpstream(up.origin, `checks:\n${checks}\n${more.yaml ?? ''}`)
  const gateway = await startTestGateway(t, yaml, { files, watch: more.watch ?? false, env: { SECRET, ...more.env } })
  return { gateway, up }
}

const says = (content: string): Readonly<Record<string, unknown>> => ({ messages: [{ role: 'user', content }] })

t.test('a check lets a request pass, or refuses it with its reason before an upstream is asked', async t => {
  const { line, origin } = await adminLine(', metrics: {}')
  const { gateway, up } = await start(
    t,
    '  words: { type: ./words.mjs, options: { words: [forbidden] } }',
    { 'words.mjs': WORDS },
    { yaml: `${line}\n`, env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } },
  )
  t.equal((await gateway.chat(says('hello'))).status, 200)
  const refused = await gateway.chat(says('a forbidden thing'))
  t.equal(refused.status, 422)
  t.match(refused.json(), {
    error: { message: 'The word forbidden is not allowed.', code: 'refused', type: 'invalid_request_error' },
  })
  t.equal(up.requests.items.length, 1, 'the refused one went nowhere')
  const logged = await gateway.log.find(one => one.msg === 'request' && one.status === 422)
  t.match(logged, { error: 'refused', phase: 'check', rule: 'words' })

  const metrics = (await adminOf(t, origin)('GET', '/metrics')).text
  t.match(metrics, /^gateway_checks_total\{.*check="words".*result="passed".*\} 1$/m)
  t.match(metrics, /^gateway_checks_total\{.*check="words".*result="refused".*\} 1$/m)
})

t.test('each family gets the refusal in its own shape', async t => {
  const { gateway } = await start(t, '  words: { type: ./words.mjs, options: { words: [forbidden] } }', {
    'words.mjs': WORDS,
  })
  const messages = await gateway.request('/v1/messages', {
    body: { model: 'm', max_tokens: 5, ...says('forbidden') },
    headers: { 'anthropic-version': '2023-06-01' },
  })
  t.match(messages.json(), { type: 'error', error: { type: 'invalid_request_error', message: /The word forbidden/ } })
  const native = await gateway.request('/v1beta/models/m:generateContent', {
    body: { contents: [{ role: 'user', parts: [{ text: 'forbidden' }] }] },
  })
  t.match(native.json(), { error: { code: 422, status: 'INVALID_ARGUMENT', message: /The word forbidden/ } })
})

t.test('a check sees caller, route, model and headers, without secrets', async t => {
  const { gateway } = await start(t, '  shows: { type: ./shows.mjs }', { 'shows.mjs': SHOWS })
  const answer = await gateway.chat(
    { stream: true },
    { headers: { 'x-shown': 'yes', 'x-api-key': SECRET, cookie: SECRET } },
  )
  t.equal(answer.status, 403)
  const { message } = (answer.json() as { error: { message: string } }).error
  t.same(JSON.parse(message), {
    caller: { name: 'caller', groups: [] },
    ...{ route: 'POST /v1/chat/completions', operation: 'chat', model: 'm', stream: true, shown: 'yes' },
    ...{ secret: [], id: 'string' },
  })
})

t.test('routes, models and conditions say which requests are meant', async t => {
  const refuse = `export const openCheck = () => ({ check: () => ({ refuse: 'no', status: 418 }) })`
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = (how: string): string =>
    oneUpstream(up.origin, `checks: { one: { type: ./refuse.mjs, ${how} } }\n`).replace('{ m: up }', '{ m: up, n: up }')
  const cases: readonly (readonly [how: string, model: string, status: number])[] = [
    ['models: [m]', 'm', 418],
    ['models: [m]', 'n', 200],
    ['models: ["*"]', 'n', 418],
    ['routes: [POST /v1/chat/*]', 'm', 418],
    ['routes: [POST /v1/embeddings]', 'm', 200],
    ['when: { key: [caller] }', 'm', 418],
    ['when: { key: [other*] }', 'm', 200],
    ['when: { stream: true }', 'm', 200],
    ['when: { header: { x-tier: gold } }', 'm', 418],
  ]
  for (const [how, model, status] of cases) {
    const gateway = await startTestGateway(t, yaml(how), { files: { 'refuse.mjs': refuse } })
    t.equal((await gateway.chat({ model }, { headers: { 'x-tier': 'gold' } })).status, status, `${how}, ${model}`)
  }
  const models = await startTestGateway(t, yaml('models: [m]'), { files: { 'refuse.mjs': refuse } })
  t.equal((await models.request('/v1/models')).status, 200, 'what asks no upstream is not checked')
})

/** Modules that fail when they are asked. */
const BROKEN: Readonly<Record<string, readonly [module: string, cause: RegExp]>> = {
  throws: ['check() { throw new TypeError(process.env.HOME + options.secret) }', /^TypeError at broken\.mjs:\d+:\d+$/],
  rejects: ['async check() { throw options.secret }', /^an error$/],
  'a strange error': [
    'check() { throw Object.assign(new Error(options.secret), { name: options.secret, code: options.secret }) }',
    /^an error at broken\.mjs/,
  ],
  'never answers': ['check: () => new Promise(() => undefined)', /^no answer within 50 ms$/],
  nothing: ['check() {}', /neither 'pass' nor a refusal/],
  true: ['check: () => true', /neither 'pass' nor a refusal/],
  'another status': ["check: () => ({ refuse: 'no', status: 200 })", /neither 'pass' nor a refusal/],
  'a line break': ["check: () => ({ refuse: 'no\\r\\nset-cookie: x' })", /neither 'pass' nor a refusal/],
  'a getter': ['check: () => ({ get refuse() { throw new Error(options.secret) } })', /cannot be read/],
  'a thenable': ['check: () => ({ then(_, no) { no(new RangeError(options.secret)) } })', /^RangeError at broken/],
  'no check': ['other() {}', /has no function check/],
  'the system': [
    "async check() { await (await import('node:fs/promises')).readFile('/nowhere/' + options.secret) }",
    /ENOENT/,
  ],
}

t.test('a module that fails is reported once, refuses or lets pass as the file says, and leaks nothing', async t => {
  for (const [what, [member, cause]] of Object.entries(BROKEN)) {
    const files = { 'broken.mjs': `export const openCheck = options => ({ ${member} })` }
    const timeout = what === 'never answers' ? '50ms' : '20s'
    const how = `type: ./broken.mjs, options: { secret: "\${SECRET}" }, timeout: ${timeout}`
    const closed = await start(t, `  closed: { ${how} }`, files)
    for (let at = 0; at < 2; at++) {
      const answer = await closed.gateway.chat()
      t.equal(answer.status, 503, what)
      t.match(answer.json(), { error: { code: 'unavailable', message: /A check of this request cannot answer now/ } })
    }
    t.equal(closed.up.requests.items.length, 0, what)
    const logged = await closed.gateway.log.find(one => one.msg === 'a check fails')
    t.match(logged, { check: 'closed', when_it_fails: 'closed', cause, level: 'warn', next: /mend the module/ }, what)
    t.equal(closed.gateway.log.items.filter(one => one.msg === 'a check fails').length, 1, what)

    const open = await start(t, `  open: { ${how}, when_it_fails: open }`, files)
    t.equal((await open.gateway.chat()).status, 200, what)
  }
})

t.test(
  'a module that does not fit is an error of the file, at its line, and --no-modules does not load it',
  async t => {
    const cases: Readonly<Record<string, readonly [text: string | undefined, message: RegExp]>> = {
      missing: [undefined, /this module cannot be read: there is no such file/],
      empty: ['export const nothing = 1', /exports no function openCheck/],
      syntax: ['export function openCheck(', /cannot be loaded: SyntaxError/],
      throws: [`throw new Error('${SECRET}')`, /cannot be loaded: Error at throws\.mjs:1/],
      imports: [
        "import './nowhere.mjs'\nexport const openCheck = () => ({})",
        /cannot be loaded: Error ERR_MODULE_NOT_FOUND/,
      ],
    }
    for (const [name, [text, message]] of Object.entries(cases)) {
      const yaml = `version: 1\nkeys: { k: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }\nupstreams: {}\nmodels: {}\nchecks:\n  one: { type: ./${name}.mjs }\n`
      const folder = t.testdir({ 'gateway.yaml': yaml, ...(text === undefined ? {} : { [`${name}.mjs`]: text }) })
      const file = join(folder, 'gateway.yaml')
      const { code, stdout } = await command(['validate', file])
      t.equal(code, 1, name)
      t.match(stdout, /gateway\.yaml:6:16 {2}checks\.one\.type/, name)
      t.match(stdout, message, name)
      t.notMatch(stdout, SECRET, name)
      if (text !== undefined) t.equal((await command(['validate', '--no-modules', file])).code, 0, name)
    }
  },
)

t.test('what is declared wrongly is reported at its place', async t => {
  const file = join(
    t.testdir({
      'ok.mjs': 'export const openCheck = () => ({})',
      'gateway.yaml': `version: 1
keys: { k: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }
groups: { staff: {} }
upstreams: { a: { kind: simulator } }
models: { m: a }
checks:
  one: { type: my-check.mjs }
  two: { type: ./ok.mjs, routes: [POST /v1/chats], models: [x], when: { group: [stuff] }, timeout: 5m }
  three: { type: ./ok.mjs, when_it_fails: maybe }
`,
    }),
    'gateway.yaml',
  )
  const { stdout } = await command(['validate', file])
  t.match(stdout, /checks\.one\.type {2}expected the path of a module, such as \.\/my-check\.mjs/)
  t.match(stdout, /checks\.three\.when_it_fails {2}expected open or closed/)
  writeFileSync(file, readFileSync(file, 'utf8').replace(/ {2}(one|three):.*\n/g, ''))
  const { stdout: second } = await command(['validate', file])
  t.match(second, /checks\.two\.routes\[0\] {2}no route matches "POST \/v1\/chats"/)
  t.match(second, /checks\.two\.models\[0\] {2}no model matches "x"/)
  t.match(second, /checks\.two\.when\.group\[0\] {2}no group is called "stuff"[\s\S]*did you mean "staff"/)
  t.match(second, /checks\.two\.timeout {2}a check has at most 60s/)
})

t.test('changed options and a changed module take over with a reload, and the former check is closed', async t => {
  const module = (word: string): string => `
export const openCheck = (options, { warn }) => ({
  check: () => ({ refuse: '${word} ' + options.word }),
  close: () => warn('closed ' + options.word),
})`
  const { gateway, up } = await start(
    t,
    '  one: { type: ./one.mjs, options: { word: a } }',
    { 'one.mjs': module('first') },
    {
      watch: true,
    },
  )
  const reason = async (): Promise<string> =>
    ((await gateway.chat()).json() as { error: { message: string } }).error.message
  t.equal(await reason(), 'first a')
  await gateway.write(
    'gateway.yaml',
    oneUpstream(up.origin, 'checks: { one: { type: ./one.mjs, options: { word: b } } }\n'),
  )
  await gateway.log.find(one => one.msg === 'a module warns' && one.cause === 'closed a')
  t.equal(await reason(), 'first b')
  await gateway.write('one.mjs', module('second'))
  await gateway.log.find(one => one.msg === 'a module warns' && one.cause === 'closed b')
  t.equal(await reason(), 'second b')
  await gateway.write('one.mjs', 'export const other = 1')
  await gateway.log.find(one => String(one.msg).startsWith('reload failed'))
  t.equal(await reason(), 'second b', 'a module that does not fit does not take over')
})

t.test('a check stays open while a generation that has it may serve, and is closed with the last one', async t => {
  const module = `
export const openCheck = ({ word }, { warn }) => ({
  check: () => ({ refuse: word }),
  close: () => warn('closed ' + word),
})`
  const checks = (word: string): string =>
    `checks: { one: { type: ./one.mjs, options: { word: ${word} } } }\nreload: { keep: 1 }\n`
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin, checks('a')), { files: { 'one.mjs': module } })
  for (const word of ['a', 'b', 'c']) {
    await gateway.write('gateway.yaml', oneUpstream(up.origin, checks(word)))
    await gateway.gateway.reload()
    const { error } = (await gateway.chat()).json() as { error: { message: string } }
    t.equal(error.message, word)
    const isClosed = gateway.log.items.some(one => one.msg === 'a module warns')
    if (word === 'b') t.notOk(isClosed, 'the generation before is kept')
  }
  await gateway.log.find(one => one.cause === 'closed a')
  t.notOk(gateway.log.items.some(one => one.cause === 'closed b'))
})

t.test('a generation on trial that goes back leaves no check open', async t => {
  const module = `
export const openCheck = ({ word }, { warn }) => ({ check: () => ({ refuse: word }), close: () => warn('closed ' + word) })`
  const up = await startRawUpstream(t)
  const yaml = (word: string, more = ''): string =>
    oneUpstream(up.origin, `checks: { one: { type: ./one.mjs, options: { word: ${word} } } }\n${more}`)
  const reload = 'reload: { canary: 50%, for: 1h }\n'
  const gateway = await startTestGateway(t, yaml('a', reload), { files: { 'one.mjs': module } })
  await gateway.write('gateway.yaml', yaml('b', reload))
  await gateway.gateway.reload()
  const said = new Set<string>()
  while (said.size < 2) {
    said.add(((await gateway.chat()).json() as { error: { message: string } }).error.message)
  }
  await gateway.write('gateway.yaml', yaml('a', reload))
  await gateway.gateway.reload()
  await gateway.log.find(one => one.cause === 'closed b')
  t.match(((await gateway.chat()).json() as { error: { message: string } }).error.message, /^a$/)
})

t.test('a check that is ended while it opens is closed when it is open', async t => {
  const folder = t.testdir({
    'slow.mjs': `
export const openCheck = async ({ name }) => {
  const { opened, waits, closed } = globalThis[name]
  opened()
  await waits
  return { check: () => 'pass', close: closed }
}`,
  })
  for (const how of ['close', 'retire'] as const) {
    const name = `slow ${how}`
    const [opened, waits, closed] = [promised(), promised(), promised()]
    Reflect.set(globalThis, name, { opened: opened.resolve, waits: waits.promise, closed: closed.resolve })
    t.teardown(() => Reflect.deleteProperty(globalThis, name))
    const config = { module: join(folder, 'slow.mjs'), digest: '0'.repeat(64), options: { name } }
    const check = new OpenedCheck(
      { ...config, name, timeout: 1000, when_it_fails: 'closed' },
      { warn: () => undefined, onOpen: () => undefined },
    )
    const opening = check.opened()
    await opened.promise
    const ended = check[how]()
    waits.resolve()
    await opening
    await ended
    await closed.promise
    t.notOk(check.isOpen, how)
  }
})

t.test('a check that fails now and then is reported once a minute, not each time', async t => {
  const module = `
let asked = 0
export const openCheck = () => ({ check() { if (++asked % 2 === 1) throw new TypeError(); return 'pass' } })`
  const { gateway } = await start(t, '  shaky: { type: ./shaky.mjs }', { 'shaky.mjs': module })
  for (let at = 0; at < 8; at++) t.equal((await gateway.chat()).status, at % 2 === 0 ? 503 : 200)
  t.equal(gateway.log.items.filter(one => one.msg === 'a check fails').length, 1)
})

t.test('what fails because its client has left is not a failure of the check', async t => {
  const module = `
export const openCheck = (_, { warn }) => ({
  check({ headers, signal }) {
    if (headers['x-leaves'] === undefined) return 'pass'
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => { warn('aborted'); reject(signal.reason) })
      warn('waits')
    })
  },
})`
  const { gateway } = await start(t, '  waits: { type: ./waits.mjs, timeout: 20s }', { 'waits.mjs': module })
  const body = { model: 'm', ...says('hello') }
  const client = await gateway.open('/v1/chat/completions', { body, headers: { 'x-leaves': '1' } })
  await gateway.log.find(one => one.cause === 'waits')
  client.socket.destroy()
  await gateway.log.find(one => one.cause === 'aborted')
  t.equal((await gateway.chat()).status, 200)
  t.same(
    gateway.log.items.filter(one => one.msg === 'a check fails'),
    [],
  )
})

t.test('a module whose top fails is loaded anew, though its text is the same, so often and no more', async t => {
  const folder = t.testdir({
    'once.mjs': `
globalThis.loadedOnce = (globalThis.loadedOnce ?? 0) + 1
if (globalThis.loadedOnce === 1) throw new RangeError()
export const one = () => 1
export const two = () => 2`,
    'never.mjs': `
globalThis.loadedNever = (globalThis.loadedNever ?? 0) + 1
throw new RangeError()`,
  })
  t.teardown(() => ['loadedOnce', 'loadedNever'].map(name => Reflect.deleteProperty(globalThis, name)))
  const once = { module: join(folder, 'once.mjs'), digest: '1'.repeat(64) }
  await t.rejects(loadExport(once, 'one'), { message: 'it cannot be loaded: RangeError at once.mjs:3:40' })
  await loadExport(once, 'one')
  await loadExport(once, 'two')
  t.equal(Reflect.get(globalThis, 'loadedOnce'), 2, 'the copy that works stays')
  const never = { module: join(folder, 'never.mjs'), digest: '2'.repeat(64) }
  for (let at = 0; at < 110; at++) await t.rejects(loadExport(never, 'one'), { message: /RangeError at never\.mjs:3/ })
  t.equal(Reflect.get(globalThis, 'loadedNever'), 100)
})

t.test(
  'a check is asked about each turn of a WebSocket and each background response once, and not about copies',
  async t => {
    const counts = `
let asked = 0
export const openCheck = (_, { warn }) => ({ check(request) { warn('asked ' + ++asked + ' ' + request.route); return 'pass' } })`
    const { gateway } = await start(t, '  counts: { type: ./counts.mjs }', { 'counts.mjs': counts })
    const answer = await gateway.request('/v1/responses', { body: { model: 'm', input: 'hi', background: true } })
    t.equal(answer.status, 200)
    const { id } = answer.json() as { id: string }
    for (;;) {
      const { status } = (await gateway.request(`/v1/responses/${id}`)).json() as { status: string }
      if (status !== 'queued' && status !== 'in_progress') break
    }
    t.same(
      gateway.log.items.filter(one => one.msg === 'a module warns').map(one => one.cause),
      ['asked 1 POST /v1/responses'],
    )
  },
)

t.test('a check sees what the holder of a token claims', async t => {
  const issuer = await startIssuer(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
groups: { research: {}, staff: { group: research } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
identity:
  providers:
    company: { issuer: "${issuer.origin}", audience: gateway, allow: [127.0.0.1], caller: { group: staff } }
checks: { shows: { type: ./shows.mjs } }
`,
    { files: { 'shows.mjs': SHOWS } },
  )
  const key = await issuer.sign({ sub: 'ada', plan: 'gold' })
  for (const turn of ['first', 'from the cache']) {
    const { message } = ((await gateway.chat({}, { key })).json() as { error: { message: string } }).error
    t.match(
      JSON.parse(message),
      {
        caller: {
          ...{ name: 'company:ada', groups: ['staff', 'research'] },
          identity: { provider: 'company', claims: { sub: 'ada', plan: 'gold' } },
        },
      },
      turn,
    )
  }
})

t.test('explain, audit and plan show checks, and nothing of their options', async t => {
  const folder = t.testdir({ 'words.mjs': WORDS })
  const yaml = (words: string): string => `version: 1
keys: { k: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }
upstreams: { a: { kind: simulator } }
models: { m: a }
checks:
  words: { type: ./words.mjs, options: { words: [${words}] }, routes: [POST /v1/chat/*], models: [m], when: { key: [k*] } }
`
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, yaml(SECRET))
  const plan = (await command(['explain', file])).stdout
  t.match(
    plan,
    /^checks +words: words\.mjs, routes POST \/v1\/chat\/\*, models m, when key k\*, 2s, closed if it fails$/m,
  )
  const request = (
    await command(['explain', 'POST', '/v1/chat/completions', '--file', file, '--model', 'm', '--key', 'k'])
  ).stdout
  t.match(request, /^checks +words \(key k\*: for this request\)$/m)
  const audit = (await command(['audit', file, '--format', 'json'])).stdout
  const rows = (JSON.parse(audit) as { rows: { route: string; policies: Record<string, string> }[] }).rows
  t.equal(rows.find(one => one.route === 'POST /v1/chat/completions')?.policies.checks, 'words')
  t.equal(rows.find(one => one.route === 'POST /v1/embeddings')?.policies.checks, '-')
  const other = join(folder, 'other.yaml')
  writeFileSync(other, yaml('other'))
  const difference = (await command(['plan', file, other])).stdout
  t.match(difference, /checks\.words\.options/)
  t.notMatch(plan + request + audit + difference, SECRET)
})

t.test('the contract that modules of strangers are tested with finds what is wrong', async t => {
  const isBad = async (request: CheckedRequest): Promise<boolean> =>
    ((await request.body()) as { model?: string } | undefined)?.model === 'bad'
  let turn = 0
  const cases: Readonly<Record<string, readonly [check: Check['check'], failed: RegExp]>> = {
    good: [async request => ((await isBad(request)) ? { refuse: 'no' } : 'pass'), /^$/],
    'refuses nothing': [() => 'pass', /it refuses what it should/],
    'says nothing': [() => undefined as never, /it lets pass[\s\S]*without a body/],
    'needs a body': [
      async request => (((await request.body()) as { model: string }).model === 'bad' ? { refuse: 'no' } : 'pass'),
      /^it answers about requests without a body/,
    ],
    'changes its mind': [() => (turn++ % 2 === 0 ? 'pass' : { refuse: 'no' }), /it says the same/],
    'changes the body': [
      async request => {
        const bad = await isBad(request)
        Object.assign((await request.body()) ?? {}, { seen: true })
        return bad ? { refuse: 'no' } : 'pass'
      },
      /^it does not change the body/,
    ],
  }
  for (const [name, [check, failed]] of Object.entries(cases)) t.match(await failures({ check }), failed, name)
  t.match(await failures({} as Check), /it lets pass/)
})

function promised(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Titles of the cases of the contract that fail. */
async function failures(check: Check): Promise<string> {
  const failed: string[] = []
  const cases: (() => Promise<void>)[] = []
  checkContract(
    (title, run) => cases.push(() => run().catch(() => void failed.push(title))),
    () => check,
    { passes: [{ body: { model: 'm' } }], refuses: [{ body: { model: 'bad' } }] },
  )
  for (const run of cases) await run()
  return failed.join('\n')
}

proveNoLeak(t)
