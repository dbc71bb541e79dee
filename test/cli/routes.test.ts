import t from 'tap'
import { run } from './bin.js'
import { BAD, GOOD, TEST_KEY } from './files.js'

const env = { TEST_KEY }
const MORE = `${GOOD}routes:
  POST /v1/completions: off
  POST /v1/more/{id}: { protocol: chat, upstream: sim, body: raw }
`

t.test('routes lists shipped routes, user routes and health routes in one table', async t => {
  const { code, stdout, stderr } = await run(['routes'], { cwd: t.testdir({ 'gateway.yaml': GOOD }), env })
  t.equal(stderr, '')
  t.equal(code, 0)
  t.match(stdout, /^METHOD +PATH +SERVES +MODELS +SCHEMA +FROM$/m)
  t.match(stdout, /^POST +\/v1\/chat\/completions +chat +1 of 2 +chat\.request +shipped$/m)
  t.match(stdout, /^GET +\/v1\/models +answer: models +shipped$/m)
  t.match(stdout, /^GET +\/readyz +health +gateway$/m)
})

t.test('a route of an upstream whose secret is set counts its model', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { stdout } = await run(['routes'], { cwd, env: { ...env, NORTH_KEY: 'k' } })
  t.match(stdout, /^POST +\/v1\/chat\/completions +chat +2 of 2 /m)
})

t.test('routes shows what the file adds and removes', async t => {
  const { code, stdout, stderr } = await run(['routes'], { cwd: t.testdir({ 'gateway.yaml': MORE }), env })
  t.equal(code, 0, stderr)
  t.match(stdout, /^POST +\/v1\/more\/\{id\} .*your file$/m)
  t.notMatch(stdout, /\/v1\/completions/)
})

t.test('routes of a file that does not compile prints the problems and exits 1', async t => {
  const { code, stdout, stderr } = await run(['routes'], { cwd: t.testdir({ 'gateway.yaml': BAD }), env })
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, 'gateway.yaml:6:')
})

t.test('routes without a file says so and exits 2', async t => {
  const { code, stderr } = await run(['routes'], { cwd: t.testdir({}) })
  t.equal(code, 2)
  t.match(stderr, 'there is no gateway.yaml')
})

t.test('routes --json lists the same routes as objects; the file may come from standard input', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stdout } = await run(['routes', '-f', '-', '--json'], { cwd, env, input: MORE })
  t.equal(code, 0)
  const routes: readonly Record<string, string>[] = JSON.parse(stdout)
  t.match(
    routes.find(({ path }) => path === '/v1/chat/completions'),
    { method: 'POST', serves: 'chat', models: '1 of 2' },
  )
  t.match(
    routes.find(({ path }) => path === '/readyz'),
    { serves: 'health', from: 'gateway' },
  )
  t.equal((await run(['routes', 'gateway.yaml', '-f', 'gateway.yaml'], { cwd, env })).code, 2)
})
