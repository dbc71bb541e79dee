import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'

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
      stdout: 'TAP version 14\n1..1\nok 1 - falls back\n# 1 of 1 models are asked for by name\n',
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
