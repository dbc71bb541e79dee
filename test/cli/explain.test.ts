import t from 'tap'
import { run } from './bin.js'
import { BAD, GOOD, TEST_KEY } from './files.js'

const env = { TEST_KEY, NORTH_KEY: 'north-secret-value' }
const BODY = '{"model":"north-text","messages":[{"role":"user","content":"hi"}]}'

t.test('explain prints the plan, secrets masked', async t => {
  const { code, stdout, stderr } = await run(['explain'], { cwd: t.testdir({ 'gateway.yaml': GOOD }), env })
  t.equal(code, 0, stderr)
  for (const part of ['north', 'sim', 'north-text', '/v1/chat/completions']) t.match(stdout, part)
  t.notMatch(stdout, env.NORTH_KEY)
  t.notMatch(stdout, TEST_KEY)
})

t.test('explain of a request names the exchange that would serve it', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const args = ['explain', 'POST', '/v1/chat/completions', '--model', 'north-text', '--key', 'local', '--stream']
  const { code, stdout, stderr } = await run(args, { cwd, env })
  t.equal(code, 0, stderr)
  t.match(stdout, 'https://north.example')
  t.notMatch(stdout, env.NORTH_KEY)
})

t.test('explain reads a body from a file and from standard input', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD, 'body.json': BODY })
  const fromFile = await run(['explain', 'post', '/v1/chat/completions', '--body', 'body.json'], { cwd, env })
  const fromInput = await run(['explain', 'post', '/v1/chat/completions', '--body', '-'], { cwd, env, input: BODY })
  t.equal(fromFile.code, 0, fromFile.stderr)
  t.match(fromFile.stdout, 'https://north.example')
  t.equal(fromInput.stdout, fromFile.stdout)
})

t.test('explain reads another file, named by the option or alone', async t => {
  const cwd = t.testdir({ 'other.yaml': GOOD })
  const byOption = await run(['explain', '-f', 'other.yaml'], { cwd, env })
  const alone = await run(['explain', 'other.yaml'], { cwd, env })
  t.equal(byOption.code, 0)
  t.strictSame(alone, byOption)
})

t.test('explain --json gives the same facts as data', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const plan = await run(['explain', '--json'], { cwd, env })
  t.match(JSON.parse(plan.stdout), {
    upstreams: [{ name: 'sim' }, { name: 'north' }],
    models: [{ name: 'sim-text' }, {}],
  })
  t.notMatch(plan.stdout, env.NORTH_KEY)
  const args = ['explain', 'POST', '/v1/chat/completions', '--model', 'none', '--json']
  const request = await run(args, { cwd, env })
  t.equal(request.code, 1)
  t.match(JSON.parse(request.stdout), { error: { status: 404, code: 'model_not_found' } })
})

t.test('a method alone, a body that is not there, and a file that is not there exit 2', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bad = [['POST'], ['POST', '/v1/chat/completions', '--body', 'none.json'], ['-f', 'none.yaml']]
  for (const args of bad) {
    const { code, stderr } = await run(['explain', ...args], { cwd, env })
    t.equal(code, 2, args.join(' '))
    t.match(stderr, /^error: /)
  }
})

t.test('a path alone is not taken for a file', async t => {
  const { code, stderr } = await run(['explain', '/v1/models'], { cwd: t.testdir({ 'gateway.yaml': GOOD }), env })
  t.equal(code, 2)
  t.match(stderr, 'give a method and a path')
})

t.test('explain of a file that does not compile exits 1', async t => {
  const { code, stderr } = await run(['explain'], { cwd: t.testdir({ 'gateway.yaml': BAD }), env })
  t.equal(code, 1)
  t.match(stderr, 'gateway.yaml:6:')
})

t.test('explain exits 1 where the request would be refused, and says so where something else is expected', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const explain = (model: string, ...more: readonly string[]) =>
    run(['explain', 'POST', '/v1/chat/completions', '--model', model, ...more], { cwd, env })
  t.equal((await explain('north-text')).code, 0)
  const refused = await explain('none')
  t.equal(refused.code, 1)
  t.match(
    refused.stdout,
    /^answer {2}404 model_not_found[\s\S]*^client {2}\{"error":\{"message":"The model `none` does not exist/m,
  )
  t.equal((await explain('none', '--expect', '404')).code, 0)
  t.equal((await explain('north-text', '--expect', '200')).code, 0)
  const served = await explain('north-text', '--expect', '404')
  t.match(served.stderr, 'expected 404, but the request would be served')
  t.equal(served.code, 1)
  const other = await explain('none', '--expect', '403')
  t.match(other.stderr, 'expected 403, but the request would be refused with 404')
  t.equal(other.code, 1)
  t.equal((await explain('none', '--expect', 'no')).code, 2)
})

t.test('explain reads the configuration from standard input, and variables from a file', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD, '.env': `NORTH_KEY=${env.NORTH_KEY}\nTEST_KEY=${TEST_KEY}\n` })
  const plain = await run(['explain'], { cwd, env })
  t.strictSame(await run(['explain', '-', '--env-file', '.env'], { cwd, input: GOOD }), plain)
  t.strictSame(await run(['explain', '-f', '-', '--env-file', '.env'], { cwd, input: GOOD }), plain)
  const twice = await run(['explain', 'POST', '/v1/chat/completions', '-f', '-', '--body', '-'], {
    cwd,
    env,
    input: GOOD,
  })
  t.equal(twice.code, 2)
})

t.test('a store that is away is a plain error of each command that asks it', async t => {
  const away = GOOD.replace('{ type: file, path: ./data }', '{ type: redis, url: { env: STORE_URL } }')
  const cwd = t.testdir({ 'gateway.yaml': away })
  const request = ['explain', 'POST', '/v1/chat/completions', '--model', 'north-text', '--key', 'x']
  for (const args of [request, ['tasks', 'list'], ['keys', 'list'], ['store', 'check'], ['spend']]) {
    const { code, stdout, stderr } = await run(args, { cwd, env: { ...env, STORE_URL: 'redis://127.0.0.1:1' } })
    t.equal(code, 1, String(args))
    t.match(stderr, /^error: [^\n]*127\.0\.0\.1:1[^\n]*\n$/m, `${args[0]}: ${stdout}`)
    t.notMatch(stderr, /bug|\n {4}at /, String(args))
  }
})
