import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run, start } from './bin.js'

const CONFIG = `version: 1
include: [more.yaml]
keys:
  team: { secret: { env: TEAM_KEY }, models: [swift] }
upstreams:
  north: { kind: openai-compatible, base: https://north.example/api, secret: { env: NORTH_KEY } }
  south: { kind: messages, base: https://south.example, secret: { env: SOUTH_KEY }, traits: { max_output: 512 } }
`
const MORE = 'models: { swift: [north, { upstream: south, as: other }] }\n'
const TESTS = `tests:
  falls back:
    request: { to: POST /v1/chat/completions, key: team, body: { model: swift, messages: [{ role: user, content: hi }] } }
    upstream:
      north: { answer: { fault: reset } }
      south: { answer: { body: { id: m, type: message, role: assistant, model: other, content: [{ type: text, text: yes }], stop_reason: end_turn, usage: { input_tokens: 1, output_tokens: 1 } } } }
    expect:
      status: 200
      upstream: south
      sent: { path: /v1/messages, body.model: other, body.max_tokens: "> 0", headers.x-none: absent }
      body: { choices.0.message.content: yes }
`

t.test('the tests of this project pass', async t => {
  const { code, stdout } = await run(['test'], { cwd: packageRoot() })
  t.equal(code, 0, stdout)
  t.match(stdout, /^TAP version 14\n1\.\.\d+\nok 1 - /)
})

t.test('test needs no secret and no network, and reads what the configuration includes', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG, 'more.yaml': MORE, 'team.test.yaml': TESTS })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame(
    { code, stdout, stderr },
    {
      code: 0,
      stdout:
        'TAP version 14\n1..1\nok 1 - falls back\n# 1 of 1 models are asked for by name\n# 2 of 2 targets are called\n# 1 of 1 keys call\n',
      stderr: '',
    },
  )
})

t.test('a configuration may be a folder, and include shipped files', async t => {
  const cwd = t.testdir({
    'conf.d': {
      '10-main.yaml':
        'version: 1\ninclude: [shipped:songs]\nkeys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }\n',
      '20-more.yaml':
        'upstreams: { maker: { kind: suno-api, base: "https://songs.example" } }\nmodels: { song: maker }\n',
    },
    'team.test.yaml': `config: conf.d
tests:
  a shipped route is served:
    request: { to: POST /v1/songs, body: { model: song, prompt: a lake } }
    upstream: { maker: { answer: { body: {} } } }
    expect: { upstream: maker }
`,
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
})

t.test('files that an included file of another folder names are beside that one', async t => {
  const cwd = t.testdir({
    'gateway.yaml': CONFIG.replace('more.yaml', 'parts/more.yaml'),
    parts: {
      'more.yaml': `${MORE}schemas: { short: chat.json }
routes: { POST /own: { protocol: chat, model: body.model, body: json, schema: short } }
`,
      'chat.json': '{ "type": "object", "maxProperties": 2 }',
    },
    'team.test.yaml': `tests:
  a third member is refused:
    request: { to: POST /own, body: { model: swift, messages: [{ role: user, content: hi }], n: 1 } }
    expect: { status: 400, calls: [] }
`,
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
})

const CHAT_FILE =
  '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"from a file"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
const STREAM_FILE =
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"in pieces"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const FILE_TESTS = `tests:
  a file answers:
    request: { to: POST /v1/chat/completions, body: { model: swift, messages: [{ role: user, content: hi }] } }
    upstream: { north: { answer: { status: 200, body: recorded/chat.json } } }
    expect: { upstream: north, body: { choices.0.message.content: from a file } }
  a recorded stream answers after a refusal:
    request: { to: POST /v1/chat/completions, body: { model: swift, stream: true, messages: [{ role: user, content: hi }] } }
    before: [{ to: POST /v1/chat/completions, body: { model: swift, messages: [{ role: user, content: hi }] } }]
    upstream: { north: { answers: [{ body: recorded/chat.json }, { body: recorded/chat.sse }] } }
    expect: { upstream: north, text: in pieces }
  the simulator answers in place of a provider that is overloaded, played by it, too:
    request: { to: POST /v1/chat/completions, body: { model: swift, messages: [{ role: user, content: hi }] } }
    upstream: { north: { simulator: { status: 529, retry-after: 1 } }, south: { simulator: {} } }
    expect: { status: 200, upstream: south, body: { object: chat.completion } }
`

t.test('upstreams answer from files beside the tests, or are the simulator with its faults', async t => {
  const cwd = t.testdir({
    'gateway.yaml': CONFIG,
    'more.yaml': MORE,
    tests: {
      'a.test.yaml': `config: ../gateway.yaml\n${FILE_TESTS}`,
      recorded: { 'chat.json': CHAT_FILE, 'chat.sse': STREAM_FILE },
    },
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
  const file = join(cwd, 'tests/a.test.yaml')
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('chat.sse', 'none.sse').replace('status: 529', 'nonsense: 529'),
  )
  const wrong = await run(['test'], { cwd })
  t.equal(wrong.code, 1)
  t.match(
    wrong.stderr,
    /a\.test\.yaml:10:\d+ .*beside this file there is no file that can be read as "recorded\/none\.sse"/,
  )
  t.match(wrong.stderr, /a\.test\.yaml:14:\d+ .*knows no fault 'nonsense'/)
})

t.test('a test that fails says where it is, and what was found instead', async t => {
  const wrong = TESTS.replace('upstream: south\n', 'upstream: north\n')
  const cwd = t.testdir({ 'gateway.yaml': CONFIG, 'more.yaml': MORE, 'team.test.yaml': wrong })
  const { code, stdout } = await run(['test', 'team.test.yaml'], { cwd })
  t.equal(code, 1)
  t.match(stdout, 'not ok 1 - falls back\n  ---\n  at: "team.test.yaml:2:3"\n  faults:\n')
  t.match(stdout, 'upstream: expected \\"north\\", found \\"south\\"')
})

t.test('a file of tests that does not fit its schema is refused with line and column', async t => {
  const cwd = t.testdir({
    'gateway.yaml': CONFIG,
    'more.yaml': MORE,
    'x.test.yaml': TESTS.replace('expect:', 'expects:'),
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /^x\.test\.yaml:\d+:5 /)
  t.equal((await run(['test'], { cwd: t.testdir({}) })).code, 2)
})

/** The simulator, beside an upstream that is scripted and another one to fall back to. */
const WHOLE = `version: 1
retry: { on: [connect, first_byte, 503] }
keys:
  team: { secret: { env: TEAM_KEY }, models: ["*"], limits: { requests: 2/month } }
  open: { secret: { env: OPEN_KEY }, models: ["*"] }
upstreams:
  north: { kind: openai-compatible, speaks: { realtime: "GET /realtime?model={model}" }, base: https://north.example/api, secret: { env: NORTH_KEY }, prices: { swift: { input: 10, output: 20 } } }
  south: { kind: openai-compatible, speaks: { realtime: "GET /realtime?model={model}" }, base: https://south.example/api, secret: { env: SOUTH_KEY } }
  sim: { kind: simulator }
models: { swift: [north, south], voice: [north, south], sim-video: sim, sim-realtime: sim, rest: south }
`
const ANSWER =
  '{ id: c, object: chat.completion, created: 1, model: swift, choices: [{ index: 0, message: { role: assistant, content: yes }, finish_reason: stop }], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }'
const CHAT =
  '{ to: POST /v1/chat/completions, key: open, body: { model: swift, messages: [{ role: user, content: hi }] } }'
const STREAM = CHAT.replace('model: swift', 'model: swift, stream: true')
const CHUNK =
  '{ id: c, object: chat.completion.chunk, created: 1, model: swift, choices: [{ index: 0, delta: { content: yes }, finish_reason: null }] }'
const WHOLE_TESTS = `tests:
  an upstream that hangs is given up after its time:
    request: ${CHAT}
    upstream: { north: { answer: { fault: hang } }, south: { answer: { body: ${ANSWER} } } }
    expect: { status: 200, upstream: south, calls: [north, south] }
  an upstream that is slow is waited for:
    request: ${CHAT}
    upstream: { north: { answer: { after: 20s, body: ${ANSWER} } } }
    expect: { status: 200, upstream: north, cost: "< 0.0013" }
  a stream that stalls ends with an error:
    request: ${STREAM}
    upstream: { north: { answer: { events: [${CHUNK}], fault: stall } } }
    expect: { status: 200, text: upstream_timeout }
  a stream that is cut ends with an error:
    request: ${STREAM}
    upstream: { north: { answer: { events: [${CHUNK}], fault: cut } } }
    expect: { status: 200, error: upstream_truncated }
  the third request is one too many:
    before: [${CHAT.replace('open', 'team')}, ${CHAT.replace('open', 'team')}]
    request: ${CHAT.replace('open', 'team')}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429, calls: [north, north], error: rate_limited }
  a film is made:
    before: [{ to: POST /v1/videos, key: open, body: { model: sim-video?polls=0, prompt: a lake } }]
    request: { to: "GET /v1/videos/{0.id}", key: open }
    expect: { status: 200, body: { object: video } }
  a conversation begins:
    request: { to: WS /v1/realtime?model=sim-realtime, key: open, send: [{ type: response.create, response: { output_modalities: [text] } }], until: response.done }
    expect: { status: 101, body: { 0.type: session.created }, text: response.done, upstream: sim }
  a session is scripted, after a target that refuses:
    request: { to: WS /v1/realtime?model=voice, key: open, send: [{ type: other }, { type: response.create }], until: response.done }
    upstream:
      north: { answer: { status: 503 } }
      south: { answer: { session: [{ send: { type: session.created } }, { await: response.create }, { send: { type: response.done } }] } }
    expect: { status: 101, upstream: south, calls: [north, south], body: { 0.type: session.created, 1.type: response.done }, sent: { body.0.type: other, body.1.type: response.create } }
  an answer is as before:
    request: ${CHAT}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { snapshot: [status, sent, body] }
`

t.test('tests have streams, faults in virtual time, limits, tasks, sockets and snapshots', async t => {
  const cwd = t.testdir({
    'gateway.yaml': WHOLE.replace('sim-video: sim', '"sim-video*": sim'),
    'a.test.yaml': WHOLE_TESTS,
  })
  const first = await run(['test'], { cwd })
  t.equal(first.code, 1)
  t.match(first.stdout, 'gateway test --update writes it')
  t.equal(first.stdout.split('\nnot ok').length, 2, first.stdout)
  t.match(
    first.stdout,
    '# 4 of 5 models are asked for by name; not rest\n# 6 of 7 targets are called; not rest at south\n',
  )
  t.equal((await run(['test', '--update'], { cwd })).code, 0)
  const again = await run(['test', '--format', 'junit'], { cwd })
  t.equal(again.code, 0, again.stdout)
  t.match(again.stdout, '<testsuite name="a.test.yaml" tests="9" failures="0">')
  writeFileSync(join(cwd, 'a.test.yaml'), WHOLE_TESTS.replaceAll('content: hi', 'content: ho'))
  const changed = await run(['test', '--format', 'github'], { cwd })
  t.match(
    changed.stdout,
    /^::error file=a\.test\.yaml,line=\d+,col=3,title=an answer is as before::snapshot: sent\.0\.body\.messages\.0\.content: recorded "hi", found "ho"/m,
  )
  t.match(changed.stdout, '8 of 9 tests passed')
})

t.test('a snapshot file that a merge has left in conflict is named, and written anew by --update', async t => {
  const tests = `tests:\n  an answer:\n    request: ${CHAT.replace('open', 'team')}\n    upstream: { north: { answer: { body: ${ANSWER} } } }\n    expect: { snapshot: [status] }\n`
  const files = { 'gateway.yaml': CONFIG, 'more.yaml': MORE, 'a.test.yaml': tests, 'a.test.snapshot.json': '<<<<' }
  const cwd = t.testdir(files)
  const refused = await run(['test'], { cwd })
  t.match(refused, {
    code: 1,
    stderr: /^error: [^\n]*a\.test\.snapshot\.json is not JSON: gateway test --update [^\n]+\n$/,
  })
  t.equal((await run(['test', '--update'], { cwd })).code, 0)
  t.strictSame(JSON.parse(readFileSync(join(cwd, 'a.test.snapshot.json'), 'utf8')), { 'an answer': { status: 200 } })
})

/** All waits here are longer than a request of a test may take. */
const TIMES = `version: 1
retry: { on: [503, 429], attempts: 3, wait: 45s, max_wait: 5m }
timeouts: { total: 20m }
keys:
  team: { secret: { env: TEAM_KEY }, limits: { requests: 2/minute } }
  daily: { secret: { env: DAILY_KEY }, limits: { requests: 1/day } }
  monthly: { secret: { env: MONTHLY_KEY }, limits: { requests: 1/month } }
  open: { secret: { env: OPEN_KEY } }
upstreams:
  north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH_KEY } }
  sim: { kind: simulator }
models:
  swift: north
  sim-text: sim
  patient: { upstream: north, limits: { requests: 1/minute, queue: 90s } }
  hasty: { upstream: north, limits: { requests: 1/minute, queue: 40s } }
`
const TEAM = CHAT.replace('open', 'team')
const LATER = (after: string, chat: string): string => chat.replace('{', `{ after: ${after},`)
const TIME_TESTS = `tests:
  the third request of a minute is one too many:
    before: [${TEAM}, ${LATER('20s', TEAM)}]
    request: ${LATER('20s', TEAM)}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429, error: rate_limited }
  after a minute the limit is free again:
    before: [${TEAM}, ${TEAM}, ${TEAM}]
    request: ${LATER('1m', TEAM)}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 200, calls: [north, north, north] }
  a day has to end:
    before: [${CHAT.replace('open', 'daily')}]
    request: ${LATER('24h', CHAT.replace('open', 'daily'))}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 200 }
  a day lasts a day:
    before: [${CHAT.replace('open', 'daily')}]
    request: ${LATER('23h', CHAT.replace('open', 'daily'))}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429, headers: { retry-after: present } }
  a month lasts four weeks:
    before: [${CHAT.replace('open', 'monthly')}]
    request: ${LATER('648h', CHAT.replace('open', 'monthly'))}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429 }
  who waits long enough for a limit is served:
    before: [${CHAT.replace('swift', 'patient')}]
    request: ${CHAT.replace('swift', 'patient')}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 200 }
  who does not is refused:
    before: [${CHAT.replace('swift', 'hasty')}]
    request: ${CHAT.replace('swift', 'hasty')}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429, error: rate_limited }
  a retry waits as long as the upstream wants:
    request: ${CHAT}
    upstream: { north: { answers: [{ status: 429, headers: { retry-after: "120" } }, { body: ${ANSWER} }] } }
    expect: { status: 200, calls: [north, north] }
  a pause of a retry moves the window of a limit:
    before: [${TEAM}, ${TEAM}]
    request: ${TEAM}
    upstream: { north: { answers: [{ body: ${ANSWER} }, { status: 503, headers: { retry-after: "70" } }, { body: ${ANSWER} }] } }
    expect: { status: 200, calls: [north, north, north, north] }
  it waits by itself:
    request: ${CHAT}
    upstream: { north: { answers: [{ status: 503 }, { status: 503 }, { body: ${ANSWER} }] } }
    expect: { status: 200, calls: [north, north, north] }
  the simulator makes it wait:
    request: ${CHAT.replace('swift', 'sim-text')}
    upstream: { sim: { simulator: { status: 429, retry-after: 120, times: 1 } } }
    expect: { status: 200 }
`

t.test('pauses of retries and windows of limits take virtual time', async t => {
  const cwd = t.testdir({ 'gateway.yaml': TIMES, 'a.test.yaml': TIME_TESTS })
  const { code, stdout, stderr } = await run(['test', '--format', 'json'], { cwd })
  t.equal(code, 0, stdout + stderr)
  const { files } = JSON.parse(stdout) as { files: { tests: { title: string; faults: string[] }[] }[] }
  t.strictSame(
    files[0]?.tests.flatMap(({ title, faults }) => (faults.length === 0 ? [] : [[title, faults]])),
    [],
  )
  t.equal(files[0]?.tests.length, 11)
})

t.test('without its time a limit is not free again', async t => {
  const cwd = t.testdir({
    'gateway.yaml': TIMES,
    'a.test.yaml': TIME_TESTS.replaceAll(/after: (1m|24h),/g, 'after: 1s,'),
  })
  const { code, stdout } = await run(['test'], { cwd })
  t.equal(code, 1)
  t.match(stdout, /^not ok \d+ - after a minute the limit is free again$/m)
  t.match(stdout, /^not ok \d+ - a day has to end$/m)
  t.equal(stdout.split('\nnot ok').length, 3, stdout)
})

const RULES = `version: 1
retry: { on: [connect, 503, 429] }
keys:
  team: { secret: { env: TEAM_KEY }, limits: { requests: [1/month, 9/total], in_flight: 5, max_output: 100 } }
  open: { secret: { env: OPEN_KEY } }
kinds:
  mine:
    credential: { in: header, name: authorization, scheme: Bearer }
    speaks: { chat: POST /chat/completions }
    request:
      - set: { user: anonymous }
      - when: { if: { body_only: true }, do: [{ remove: [body_only] }], else: [{ remove: [seed] }] }
    response:
      - remove: [system_fingerprint]
upstreams:
  north: { kind: mine, base: https://north.example, secret: { env: NORTH_KEY } }
models:
  swift:
    targets:
      - { upstream: north, as: large, when: { stream: true } }
      - { upstream: north, as: small, when: { stream: false } }
    fallbacks: { overloaded: [spare], context_too_long: [spare] }
  spare: north
`
const RULE_TESTS = `tests:
  another model answers:
    request: ${CHAT}
    upstream: { north: { answers: [{ status: 503 }, { body: ${ANSWER.replace('{', '{ system_fingerprint: x, ')} }] } }
    expect: { status: 200, sent: { body.model: spare, body.user: anonymous } }
  the second request is one too many:
    before: [${CHAT.replace('open', 'team')}]
    request: ${CHAT.replace('open', 'team')}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 429 }
  a busy upstream is asked again:
    request: ${CHAT.replace('swift', 'spare')}
    upstream: { north: { answers: [{ status: 429 }, { body: ${ANSWER} }] } }
    expect: { status: 200 }
`

t.test('a report names the rules that no test touches, each with its place', async t => {
  const cwd = t.testdir({ 'gateway.yaml': RULES, 'a.test.yaml': RULE_TESTS })
  const { stdout } = await run(['test', '--format', 'json'], { cwd })
  const { files } = JSON.parse(stdout) as {
    files: {
      tests: { title: string; ok: boolean; faults: string[] }[]
      coverage: { kind: string; name: string; touched: boolean; position?: { file: string; line: number } }[]
    }[]
  }
  t.strictSame(
    files[0]?.tests.map(({ title, faults }) => [title, faults]),
    [
      ['another model answers', []],
      ['the second request is one too many', []],
      ['a busy upstream is asked again', []],
    ],
  )
  const rules = (files[0]?.coverage ?? []).filter(({ kind }) => kind === 'rule')
  const names = (touched: boolean): readonly string[] =>
    rules.filter(one => one.touched === touched).map(({ name, position }) => `${position?.line} ${name}`)
  t.strictSame(names(true), [
    '2 retry.on[2]',
    '4 keys.team.limits.requests[0]',
    '4 keys.team.limits.max_output',
    '11 kinds.mine.request[0]',
    '14 kinds.mine.response[0]',
    '21 models.swift.targets[1].when',
    '22 models.swift.fallbacks.overloaded',
  ])
  t.strictSame(names(false), [
    '2 retry.on[0]',
    '2 retry.on[1]',
    '4 keys.team.limits.requests[1]',
    '4 keys.team.limits.in_flight',
    '12 kinds.mine.request[1].when.if',
    '12 kinds.mine.request[1].when.do[0]',
    '12 kinds.mine.request[1].when.else[0]',
    '20 models.swift.targets[0].when',
    '22 models.swift.fallbacks.context_too_long',
  ])
  const { stdout: tap } = await run(['test'], { cwd })
  t.match(tap, /# 7 of 16 rules take effect; not retry\.on\[0\] \(gateway\.yaml:2:15\), retry/)
})

t.test('recordings answer in a test', async t => {
  const answer = JSON.stringify({
    request: {
      method: 'POST',
      url: 'https://x.example/chat/completions',
      body: { model: 'swift', messages: [{ role: 'user', content: 'hi' }] },
    },
    response: {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { choices: [{ message: { content: 'taped' } }] },
    },
  })
  const cwd = t.testdir({
    'gateway.yaml': WHOLE,
    tapes: { 'a.json': answer },
    'a.test.yaml':
      'tests: { taped: { request: { to: POST /v1/chat/completions, body: { model: swift, messages: [{ role: user, content: hi }] } }, upstream: { north: { recordings: tapes } }, expect: { text: taped } } }\n',
  })
  const { code, stdout } = await run(['test'], { cwd })
  t.equal(code, 0, stdout)
})

t.test('watch runs the tests again after a change', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG, 'more.yaml': MORE, 'team.test.yaml': TESTS })
  const bin = start(t, ['test', '--watch'], { cwd })
  await bin.until(/ok 1 - falls back[\s\S]*keys call/)
  writeFileSync(join(cwd, 'team.test.yaml'), TESTS.replace('falls back', 'falls over'))
  await bin.until(/ok 1 - falls over/)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 0)
})

t.test('a recorded session answers offline, and an error event names the nearest recording', async t => {
  const frames = [
    { from: 'upstream', json: { type: 'session.created' } },
    { from: 'client', json: { type: 'response.create', words: 1 } },
    { from: 'upstream', after_ms: 900, json: { type: 'response.done', said: 'recorded' } },
  ]
  const url = 'https://north.example/v1/realtime?model=talker'
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
include: [parts/north.yaml]
keys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }
models: { voice: { upstream: north, as: talker } }
`,
    parts: { 'north.yaml': 'upstreams: { north: { kind: openai, secret: { env: NORTH_KEY } } }\n' },
    tapes: { 'a.json': JSON.stringify({ request: { method: 'WS', url }, response: { status: 101 }, frames }) },
    'a.test.yaml': `tests:
  a voice answers:
    request: { to: WS /v1/realtime?model=voice, send: [{ type: response.create, words: 1 }], until: response.done }
    upstream: { north: { recordings: tapes } }
    expect: { status: 101, upstream: north, body: { 0.type: session.created, 1.said: recorded } }
  it says what it was not asked:
    request: { to: WS /v1/realtime?model=voice, send: [{ type: response.create, words: 2 }], until: error }
    upstream: { north: { recordings: tapes } }
    expect: { text: "The nearest is a.json, with other words: recorded 1, asked 2" }
`,
  })
  const { code, stdout } = await run(['test'], { cwd })
  t.equal(code, 0, stdout)
})

/** Each route refuses a model that there is not, in the format of its own file's defaults. */
const DEFAULTS_FILES = {
  'gateway.yaml': `version: 1
include: [north.yaml, south.yaml]
keys: { team: { secret: { env: TEAM_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { swift: sim }
routes: { POST /plain/chat: { protocol: chat, model: body.model, body: json } }
`,
  'north.yaml': `defaults: { errors: messages, prefixes: { fast: { mode: fast } } }
routes: { POST /north/chat: { protocol: chat, model: body.model, body: json } }
`,
  'south.yaml': `defaults: { errors: native }
routes:
  POST /south/chat: { protocol: chat, model: body.model, body: json }
  POST /own/chat: { protocol: chat, model: body.model, body: json, errors: messages }
  GET /v1/usage: off
`,
  'team.test.yaml': `tests:
${Object.entries({
  '/plain': 'error.code: model_not_found',
  '/north': 'type: error',
  '/fast/north': 'type: error',
  '/south': 'error.status: NOT_FOUND',
  '/own': 'type: error',
})
  .map(
    ([path, body]) => `  of ${path}:
    request: { to: POST ${path}/chat, body: { model: absent, messages: [{ role: user, content: hi }] } }
    expect: { status: 404, body: { ${body} } }
`,
  )
  .join('')}`,
}

t.test('the defaults of an included file hold for its routes alone', async t => {
  const cwd = t.testdir(DEFAULTS_FILES)
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
  t.equal(stdout.match(/^ok /gm)?.length, 5)
})

t.test('files of tests whose names differ in .yml and .yaml have snapshots of their own', async t => {
  const tests = (status: number) =>
    `tests:\n  an answer:\n    request: ${CHAT.replace('open', 'team')}\n    upstream: { north: { answer: { status: ${status}, body: ${ANSWER} } } }\n    expect: { snapshot: [status] }\n`
  const files = { 'gateway.yaml': CONFIG, 'more.yaml': MORE, 'a.test.yaml': tests(200), 'a.test.yml': tests(201) }
  const cwd = t.testdir(files)
  t.equal((await run(['test', '--update'], { cwd })).code, 0)
  const again = await run(['test'], { cwd })
  t.equal(again.code, 0, again.stdout)
})
