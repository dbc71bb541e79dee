import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { declarationOf } from '../../src/cli/probing/findings.js'
import { runProbes } from '../../src/cli/probing/run.js'
import { loadPlan } from '../../src/runtime/load.js'
import { UpstreamLine } from '../../src/runtime/upstream-line.js'
import { sameAsGolden } from '../helpers/golden-file.js'
import { run } from './bin.js'

interface Case {
  readonly simulate: string
  readonly traits?: object
  readonly request?: readonly object[]
  /** What single probes find. */
  readonly found?: Readonly<Record<string, string>>
}

const WITHOUT_CHAT = { max_tokens: 'no', max_completion_tokens: 'no' }

/** Simulated servers, each without one thing. */
const SERVERS: Readonly<Record<string, Case>> = {
  whole: { simulate: 'jitter=0ms', found: { embeddings: '256', error: 'compatible', stream: 'yes', tools: 'yes' } },
  old: { simulate: 'lacks=max_completion_tokens', traits: { max_tokens_field: 'max_tokens' } },
  modern: { simulate: 'lacks=max_tokens', found: { max_tokens: 'no' } },
  nameless: { simulate: 'lacks=max_tokens.max_completion_tokens', found: WITHOUT_CHAT },
  developer: { simulate: 'lacks=system', traits: { system_role: 'developer' } },
  plain: { simulate: 'lacks=developer', found: { developer: 'no', system: 'yes' } },
  fixed: { simulate: 'lacks=sampling', traits: { sampling: false } },
  schemaless: { simulate: 'lacks=schema', traits: { structured: 'tool' } },
  toolless: { simulate: 'lacks=tools', found: { tools: 'no', structured: 'yes' } },
  single: { simulate: 'lacks=parallel', request: [{ remove: ['parallel_tool_calls'] }] },
  effortless: { simulate: 'lacks=effort', traits: { reasoning: 'none' } },
  whole_only: { simulate: 'lacks=stream', found: { stream: 'no' } },
  uncounted: { simulate: 'lacks=stream_usage', request: [{ remove: ['stream_options'] }] },
  blind: { simulate: 'lacks=images', found: { images: 'no', audio: 'yes' } },
  deaf: { simulate: 'lacks=audio', found: { images: 'yes', audio: 'no' } },
  thinker: { simulate: 'reasoning', traits: { sampling: false }, found: { max_tokens: 'no' } },
}

const upstreams = Object.entries(SERVERS)
  .map(([name, { simulate }]) => `  ${name}: { kind: simulator, headers: { x-simulate: "${simulate}" } }\n`)
  .join('')
const CONFIG = `version: 1\nkeys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }\nupstreams:\n${upstreams}models: { m: whole }\n`

t.test('probe finds every trait of simulated servers', async t => {
  const file = join(t.testdir({ 'gateway.yaml': CONFIG }), 'gateway.yaml')
  const { plan, config } = await loadPlan({ file, env: {}, secrets: 'assume' })
  if (plan === undefined || config === undefined) throw new Error('the configuration is not valid')
  const usual = new Map<string, string>()
  for (const [name, server] of Object.entries(SERVERS)) {
    const line = await UpstreamLine.open(plan, config, name)
    if (line === undefined) throw new Error(`${name} is off`)
    const findings = await runProbes(line, 'sim-text').finally(() => line.close())
    const found = new Map(findings.map(one => [one.name, one.found]))
    if (name === 'whole') for (const [probe, value] of found) usual.set(probe, value)
    const { traits, request, speaks } = declarationOf(findings)
    t.strictSame({ traits, request }, { traits: server.traits ?? {}, request: server.request ?? [] }, name)
    for (const [probe, value] of Object.entries(server.found ?? {}))
      t.equal(found.get(probe), value, `${name}: ${probe}`)
    t.equal('embeddings' in speaks, true)
  }
  t.notOk([...usual.values()].includes('unknown'), JSON.stringify([...usual]))
})

t.test('probe prints what to paste, and tells what is declared otherwise', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG })
  const asked = ['probe', 'fixed', '--model', 'sim-text']
  const { code, stdout } = await run(asked, { cwd, env: { TEAM_KEY: 'x'.repeat(40) } })
  t.equal(code, 0)
  sameAsGolden(t, 'probe', stdout)
  t.match(stdout, /^# sampling +no: 400 This server has no support for 'sampling'\.$/m)
  t.match(stdout, '    kind: simulator\n    traits: {"sampling":false}\n')
  const drift = await run([...asked, '--compare'], { cwd })
  t.strictSame([drift.code, drift.stdout], [1, 'traits.sampling: declared nothing, found false\n'])
  writeFileSync(
    join(cwd, 'gateway.yaml'),
    CONFIG.replace('lacks=sampling" }', 'lacks=sampling" }, traits: { sampling: false }'),
  )
  t.equal((await run([...asked, '--compare'], { cwd })).code, 0)
  const dry = await run([...asked, '--dry-run'], { cwd })
  t.match(dry.stdout, /\d+ requests, at most \d+ tokens in and \d+ out; at most 0\.0000 USD/)
  t.equal((await run(['probe', 'none', '--model', 'm'], { cwd })).code, 2)
})
