// Drives a running gateway by the OpenAPI document that it gives a key: schemathesis sends what the document permits and forbids and
// compares the answers, and a client that is generated from the document calls it. Build first. What cannot be installed is skipped.
//   node scripts/passport.mjs           both
//   node scripts/passport.mjs client    the one whose name has this word
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KEY, startGateway } from './clients/gateway.mjs'
import { install, Skipped } from './clients/install.mjs'
import { runToEnd } from './clients/processes.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const SCHEMATHESIS = { pip: 'schemathesis', version: '4.32.5' }
const TYPES = { npm: 'openapi-typescript', version: '7.13.0' }
const FETCH = { npm: 'openapi-fetch', version: '0.17.0' }
/** Operations that take seconds of data each; a key that may do all has more than a hundred. */
const ROUTES = [
  'GET /v1/models',
  'GET /v1/models/{id*}',
  'POST /v1/chat/completions',
  'POST /v1/embeddings',
  'POST /v1/moderations',
  'POST /v1/rerank',
  'POST /v1/images/generations',
  'GET /v1/files/{id}',
  'GET /v1/usage',
]
const FILE = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: GATEWAY_KEY }, models: ["*"], routes: ${JSON.stringify(ROUTES)} } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim, sim-embed: sim, sim-rerank: sim, sim-image: sim, sim-moderate: sim }
`
const EXAMPLES = 4
const SEED = 1
const RUN_TIMEOUT_MS = 240_000
const CHECKS = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'

const CLIENT = `import createClient from 'openapi-fetch'
import type { paths } from './passport.js'

const [origin = '', key = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl: origin, headers: { authorization: 'Bearer ' + key } })
const messages = [{ role: 'user' as const, content: 'hello' }]
const chat = await client.POST('/v1/chat/completions', { body: { model: 'sim-text', messages } })
// A stream would be a text.
const whole = typeof chat.data === 'object' ? chat.data : undefined
const said: string | null | undefined = whole?.choices[0]?.message.content
// @ts-expect-error: a member that no answer has
const nothing = whole?.chioces
if (typeof said !== 'string' || nothing !== undefined) throw new Error('the answer is not as its type says')
const models = await client.GET('/v1/models')
// @ts-expect-error: a model that the key does not have
const unknown = await client.POST('/v1/chat/completions', { body: { model: 'no-model', messages } })
// @ts-expect-error: a route that the key does not have
const absent = await client.GET('/v1/batches')
console.log([chat, models, unknown, absent].map(one => one.response.status).join(' '))
`

const work = mkdtempSync(join(tmpdir(), 'gateway-passport-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
const gateway = await startGateway(join(work, 'gateway'), FILE)
const only = process.argv[2]
const failed = []
for (const [name, run] of Object.entries({ schemathesis, 'generated client': generatedClient })) {
  if (only !== undefined && !name.includes(only)) continue
  try {
    const reason = await run(join(work, name.replace(' ', '-')))
    console.log(`${reason === undefined ? 'ok' : 'FAILED'}  ${name}`)
    if (reason === undefined) continue
    console.log(reason)
    failed.push(name)
  } catch (error) {
    if (!(error instanceof Skipped)) throw error
    console.log(`SKIPPED: ${name} ${error.message}`)
  }
}
await gateway.stop()
process.exitCode = failed.length > 0 ? 1 : 0

/** Why it failed, if it did. */
async function schemathesis(folder) {
  await install(SCHEMATHESIS, folder)
  const args = ['-m', 'schemathesis.cli', 'run', `${gateway.origin}/v1/openapi.json`]
  args.push('--header', `authorization: Bearer ${KEY}`, '--phases', 'fuzzing', '--checks', CHECKS, '--no-color')
  args.push('--max-examples', String(EXAMPLES), '--seed', String(SEED), '--no-shrink', '--continue-on-failure')
  args.push('--suppress-health-check', 'all', '--generation-database', 'none', '--output-truncate', 'true')
  const env = { ...process.env, PYTHONPATH: folder }
  const result = await runToEnd('python3', args, { cwd: work, env, timeoutMs: RUN_TIMEOUT_MS })
  const [, tested = 0, cases = ''] = /Tested: (\d+)[\s\S]*Test cases:\s*(.*)/.exec(result.out) ?? []
  console.log(`${tested} operations: ${cases}`)
  return result.code === 0 && Number(tested) === ROUTES.length ? undefined : outputOf(result)
}

async function generatedClient(folder) {
  // A folder for each: npm removes what it did not install itself.
  await install(TYPES, join(folder, 'types'))
  await install(FETCH, folder)
  const headers = { authorization: `Bearer ${KEY}` }
  const document = await (await fetch(`${gateway.origin}/v1/openapi.json`, { headers })).text()
  writeFileSync(join(folder, 'passport.json'), document)
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const steps = [
    [join(folder, 'types/node_modules/openapi-typescript/bin/cli.js'), 'passport.json', '--output', 'passport.ts'],
    [
      ...[
        join(ROOT, 'node_modules/typescript-native/bin/tsc'),
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2023',
      ],
      ...['--skipLibCheck', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), 'client.ts'],
    ],
    ['client.js', gateway.origin, KEY],
  ]
  for (const args of steps) {
    const result = await runToEnd(process.execPath, args, { cwd: folder, env: process.env, timeoutMs: RUN_TIMEOUT_MS })
    if (result.code !== 0) return outputOf(result)
    if (args[0] === 'client.js' && result.out.trim() !== '200 200 404 403') return outputOf(result)
  }
  return undefined
}

function outputOf({ out, err, timedOut }) {
  return `${timedOut ? 'not ended in time\n' : ''}${out}\n${err}`.trim().slice(-8000)
}
