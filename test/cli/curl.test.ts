import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { curl } from '../../src/cli/curl.js'
import { Secret } from '../../src/core/secret.js'
import { loadPlan } from '../../src/runtime/load.js'
import { TEST_KEY } from './files.js'

const KEY = 'keys: { local: { secret: { env: TEST_KEY }, models: ["*"] } }'
const SIM =
  'upstreams: { sim: { kind: simulator }, north: { kind: openai-compatible, base: https://n.example, disabled: true } }'

/** The printed command for a configuration; routes of the file replace the shipped ones. */
async function printed(
  t: Test,
  yaml: string,
  origin = 'http://127.0.0.1:8080',
  files: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const folder = t.testdir({ 'gateway.yaml': `version: 1\n${SIM}\n${yaml}`, ...files })
  const env = { TEST_KEY }
  const generated = (): Secret => new Secret('gw-kept')
  const { plan, config, problems } = await loadPlan({ file: join(folder, 'gateway.yaml'), env, generated })
  if (plan === undefined || config === undefined) throw new Error(JSON.stringify(problems))
  const own = { secret: new Secret('gw-kept'), file: '/srv/data/keys/local', made: true }
  const kept = new Map(yaml.includes('generate') ? [['local', own]] : [])
  return curl({ plan, config, kept, origin, env })
}

t.test('the key is where the route reads it', async t => {
  const route = 'POST /v1/chat/completions: { protocol: chat, model: body.model, stream: body.stream, caller: CALLER }'
  const withCaller = (caller: string): Promise<string | undefined> =>
    printed(t, `${KEY}\nmodels: { sim-text: sim }\nroutes:\n  ${route.replace('CALLER', caller)}\n`)
  t.match(await withCaller('{ in: header, name: x-key }'), '-H "x-key: $TEST_KEY"')
  t.match(await withCaller('{ in: query, name: key }'), '/v1/chat/completions?key=$TEST_KEY ')
})

t.test('the first model that is on and that the key may use is asked for', async t => {
  const models = 'models: { away: north, "glob-*": sim, sim-text: sim, sim-embed: sim }'
  t.match(await printed(t, `${KEY}\n${models}\n`), '"model":"sim-text"')
  const embed = await printed(t, `${KEY.replace('"*"', 'sim-embed')}\n${models}\n`)
  t.match(embed, '"model":"sim-embed"')
})

t.test('a key that was generated is read from its file, a hashed one is a variable to fill', async t => {
  const models = 'models: { sim-text: sim }\n'
  const made = await printed(t, `keys: { local: { secret: { env: NONE, generate: true } } }\n${models}`)
  t.match(made, `Bearer $(cat '/srv/data/keys/local')"`)
  const hash = createHash('sha256').update('some other key').digest('hex')
  const hashed = await printed(t, `keys: { local: { secret: { hash: "sha256:${hash}" } } }\n${models}`)
  t.match(hashed, 'Bearer $GATEWAY_KEY"')
})

t.test('a key in a file is read there', async t => {
  const yaml = `keys: { local: { secret: { file: "team's key" } } }\nmodels: { sim-text: sim }\n`
  const text = await printed(t, yaml, undefined, { "team's key": `${TEST_KEY}\n` })
  const quoted = join(t.testdirName, "team's key").replaceAll("'", "'\\''")
  t.match(text, `-H "authorization: Bearer $(cat '${quoted}')"`)
})

t.test('quotes in a model name do not end the shell word', async t => {
  t.match(await printed(t, `${KEY}\nmodels: { "it's": sim }\n`), `{"model":"it'\\''s"`)
})

t.test('listening everywhere is called on loopback', async t => {
  const yaml = `${KEY}\nmodels: { sim-text: sim }\n`
  t.match(await printed(t, yaml, 'http://0.0.0.0:80'), 'curl http://127.0.0.1:80/')
  t.match(await printed(t, yaml, 'http://[::]:80'), 'curl http://[::1]:80/')
})

t.test('nothing is printed where nothing would work', async t => {
  t.equal(await printed(t, `${KEY}\nmodels: { away: north }\n`), undefined)
  t.equal(await printed(t, `${KEY}\nmodels: { "glob-*": sim }\n`), undefined)
  t.equal(await printed(t, `${KEY.replace('TEST_KEY', 'NONE')}\nmodels: { sim-text: sim }\n`), undefined)
  t.equal(await printed(t, 'models: { sim-text: sim }\n'), undefined)
})
