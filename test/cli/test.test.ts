import { writeFileSync } from 'node:fs'
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
retry: { on: [connect, first_byte] }
keys:
  team: { secret: { env: TEAM_KEY }, models: ["*"], limits: { requests: 2/month } }
  open: { secret: { env: OPEN_KEY }, models: ["*"] }
upstreams:
  north: { kind: openai-compatible, base: https://north.example/api, secret: { env: NORTH_KEY }, prices: { swift: { input: 10, output: 20 } } }
  south: { kind: openai-compatible, base: https://south.example/api, secret: { env: SOUTH_KEY } }
  sim: { kind: simulator }
models: { swift: [north, south], sim-video: sim, sim-realtime: sim, rest: south }
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
    '# 3 of 4 models are asked for by name; not rest\n# 4 of 5 targets are called; not rest at south\n',
  )
  t.equal((await run(['test', '--update'], { cwd })).code, 0)
  const again = await run(['test', '--format', 'junit'], { cwd })
  t.equal(again.code, 0, again.stdout)
  t.match(again.stdout, '<testsuite name="a.test.yaml" tests="8" failures="0">')
  writeFileSync(join(cwd, 'a.test.yaml'), WHOLE_TESTS.replaceAll('content: hi', 'content: ho'))
  const changed = await run(['test', '--format', 'github'], { cwd })
  t.match(
    changed.stdout,
    /^::error file=a\.test\.yaml,line=\d+,col=3,title=an answer is as before::snapshot: sent\.0\.body\.messages\.0\.content: recorded "hi", found "ho"/m,
  )
  t.match(changed.stdout, '7 of 8 tests passed')
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
