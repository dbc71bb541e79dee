import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'
import { GOOD } from './files.js'

t.setTimeout(60_000)

function folder(t: Test, text: string): string {
  const cwd = mkdtempSync(join(tmpdir(), 'gateway-audit-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'gateway.yaml'), text)
  return cwd
}

/** A route of the user's own, and one that no list of models keeps anyone from. */
const OWN = `${GOOD}routes:
  POST /v1/own: { protocol: chat, model: body.model }
`
const OPEN =
  `${OWN.replace('models: ["*"]', 'models: [sim-text]')}  GET /v1/credits: { protocol: models, upstream: sim }
protocols: { models: {} }
`.replace('kind: simulator }', 'kind: simulator, speaks: { models: GET /v1/models } }')

t.test('gateway audit of the shipped file has a line for each route and no hole', async t => {
  const routes = await run(['routes', '--json'], { cwd: packageRoot() })
  const { code, stdout, stderr } = await run(['audit', 'gateway.yaml'], { cwd: packageRoot() })
  t.equal(code, 0, stderr)
  const lines = stdout.split('\n')
  t.match(
    lines[0],
    /^ROUTE +KEY +MODELS +CALLER +CHECKS +SCHEMA +BODY +TIME-OUTS .* BUDGET +RETRY +SECRETS +ABORT +LOG +METRIC +TELEMETRY$/,
  )
  t.match(stdout, /\nPOST \/v1\/chat\/completions +console\+keys +name +- +- +yes +32MiB +3s\/5m\/2m\/30m +yes /)
  // The plan has no routes for health.
  const served = (JSON.parse(routes.stdout) as { serves: string }[]).filter(({ serves }) => serves !== 'health')
  t.match(lines.at(-2), `gateway.yaml: ${served.length} routes, no hole`)
  t.equal(lines.length, served.length + 4, 'a heading, unknown paths, the verdict, and a last line break')
})

t.test("a user's own route is audited like shipped ones, and a hole in it has its place in the file", async t => {
  const own = await run(['audit', '--format', 'json'], { cwd: folder(t, OWN) })
  t.equal(own.code, 0, own.stderr)
  const { rows, problems, valid } = JSON.parse(own.stdout) as {
    valid: boolean
    rows: { route: string; shipped: boolean; policies: Record<string, string> }[]
    problems: object[]
  }
  t.equal(valid, true)
  const row = rows.find(({ route }) => route === 'POST /v1/own')
  t.match(row, { shipped: false, policies: { key: 'keys', models: 'name', schema: 'no', log: 'yes', metric: 'log' } })
  t.match(problems, [
    { severity: 'warning', rule: 'audit-schema', path: 'routes["POST /v1/own"]', position: { line: 12 } },
  ])
  t.equal((await run(['audit', '--strict'], { cwd: folder(t, OWN) })).code, 1)

  const cwd = folder(t, OPEN)
  const open = await run(['audit'], { cwd })
  t.equal(open.code, 1)
  const hole = 'keys without every model may use it, and it names no model: local'
  t.match(open.stdout, `gateway.yaml:13:20  routes["GET /v1/credits"]  ${hole}`)
  t.match(open.stdout, /\ngateway\.yaml: \d+ routes, 1 hole\n$/)
  const github = await run(['audit', '--format', 'github'], { cwd })
  t.equal(github.code, 1)
  t.match(github.stdout, /^::error file=gateway\.yaml,line=13,.*audit-models/m)
  const sarif = await run(['audit', '--format', 'sarif'], { cwd })
  t.match(JSON.parse(sarif.stdout).runs[0].results, [{ ruleId: 'audit-schema' }, { ruleId: 'audit-models' }])
})

t.test('a file that is not valid has no audit', async t => {
  const { code, stderr, stdout } = await run(['audit'], { cwd: folder(t, GOOD.replace('upstreams:', 'upstream:')) })
  t.equal(code, 1)
  t.match(stderr, 'gateway.yaml is not valid')
  t.match(stdout, /gateway\.yaml:5:1/)
})
