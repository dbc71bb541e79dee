import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'
import { command } from './in-process.js'

const REFERENCE = join(process.env.REFERENCE_DIR ?? resolve(packageRoot(), '..', 'shared', 'reference'), 'imports')

interface Imported {
  readonly unpriced?: string
  readonly prices?: object
  readonly groups?: Readonly<Record<string, object>>
  readonly keys: Readonly<Record<string, { readonly group?: string; readonly limits?: object }>>
  readonly upstreams: Readonly<Record<string, { readonly limits?: object; readonly speaks?: object; headers?: object }>>
  readonly models: Readonly<Record<string, { readonly limits?: object }>>
}

/** What an import writes, as `validate` accepts it, and its findings. */
async function imported(t: Test, from: string, text: string): Promise<{ made: Imported; findings: string }> {
  const { code, stdout, stderr } = await command(['import', from, '-'], { input: text })
  t.equal(code, 0, stderr)
  const folder = t.testdir({ 'gateway.yaml': stdout })
  const validated = await command(['validate', join(folder, 'gateway.yaml'), '--secrets', 'assume'])
  t.equal(validated.code, 0, validated.stdout + validated.stderr)
  return { made: parse(stdout) as Imported, findings: stderr }
}

const CUSTOM = {
  providers: {
    mine: {
      keys: [{ value: 'env.B' }],
      network_config: { base_url: 'https://llm.example.com/v1' },
      custom_provider_config: {
        base_provider_type: 'openai',
        allowed_requests: { chat_completion: true, chat_completion_stream: false, embedding: true },
        request_path_overrides: {
          chat_completion: '/chat',
          chat_completion_stream: '/chat-stream',
          embedding: 'https://other.example.com/e',
        },
      },
    },
    lone: {
      network_config: { base_url: 'https://lone.example.com/backend' },
      custom_provider_config: {
        base_provider_type: 'openai',
        is_key_less: true,
        allowed_requests: { responses: true, responses_stream: true },
        request_path_overrides: { responses: 'responses' },
      },
    },
  },
}

t.test('import bifrost: what a provider may serve and where its paths differ is under speaks', async t => {
  const { made, findings } = await imported(t, 'bifrost', JSON.stringify(CUSTOM))
  const off = Object.fromEntries(
    [
      'completions',
      'speech',
      'transcriptions',
      'images.generations',
      'images.edits',
      'images.variations',
      'models',
    ].map(protocol => [protocol, 'off']),
  )
  t.strictSame(made.upstreams.mine?.speaks, {
    ...off,
    chat: { call: 'POST /v1/chat', stream: 'POST /v1/chat-stream' },
  })
  t.strictSame(made.upstreams.lone, {
    kind: 'openai-compatible',
    base: 'https://lone.example.com/backend',
    speaks: { ...off, chat: 'off', embeddings: 'off', responses: 'POST /responses' },
  })
  t.match(findings, /mine\S+request_path_overrides\.chat_completion {2}exact: its call is under speaks/)
  t.match(findings, /request_path_overrides\.embedding {2}manual: write an upstream of its own/)
  t.match(findings, /allowed_requests\.chat_completion_stream {2}approximate: streams are served/)
  t.match(findings, /findings: 5 exact, 1 approximate, 1 manual, 0 unsupported/)
})

const GOVERNED = {
  providers: { openai: { keys: [{ value: 'env.A', models: ['m'] }] } },
  governance: {
    budgets: [
      { id: 'b-north', max_limit: 500, reset_duration: '1M' },
      { id: 'b-key', max_limit: 70, reset_duration: '1w', current_usage: 3 },
      { id: 'b-lone', max_limit: 1, reset_duration: '1d' },
      { id: 'b-own', virtual_key_id: 'v2', max_limit: 0.5, reset_duration: '1d' },
    ],
    rate_limits: [
      {
        id: 'r-team',
        request_max_limit: 100,
        request_reset_duration: '1m',
        token_max_limit: 5000,
        token_reset_duration: '5m',
      },
      { id: 'r-model', request_max_limit: 7, request_reset_duration: '1s' },
      { id: 'r-provider', request_max_limit: 1, request_reset_duration: '5m' },
    ],
    customers: [{ id: 'c1', name: 'North', budget_id: 'b-north' }],
    teams: [{ id: 't1', name: 'Search', customer_id: 'c1', rate_limit_id: 'r-team' }],
    providers: [{ name: 'openai', rate_limit_id: 'r-provider' }],
    model_configs: [{ id: 'mc', model_name: 'm', provider: 'openai', rate_limit_id: 'r-model' }],
    virtual_keys: [
      {
        id: 'v1',
        name: 'app',
        value: 'env.KEY_APP',
        team_id: 't1',
        budget_id: 'b-key',
        provider_configs: [{ provider: 'openai', allowed_models: ['m'], budget_id: 'b-lone' }],
      },
      { id: 'v2', name: 'lone', value: 'env.KEY_LONE', rate_limit_id: 'none' },
    ],
  },
}

t.test(
  'import bifrost: customers and teams are groups, and budgets and rates are limits of what names them',
  async t => {
    const { made, findings } = await imported(t, 'bifrost', JSON.stringify(GOVERNED))
    t.strictSame(made.groups, {
      North: { limits: { budget: '500 USD/month' } },
      Search: { group: 'North', limits: { requests: '100/min', tokens: '1000/min' } },
    })
    t.match(made.keys.app, { group: 'Search', limits: { budget: '10 USD/day' } })
    t.match(made.keys.lone, { limits: { budget: '0.5 USD/day' } })
    t.strictSame(made.models['openai/m']?.limits, { requests: '7/s' })
    t.strictSame(
      made.upstreams.openai?.limits,
      { requests: '12/hour' },
      'one in five minutes would be less than one a minute',
    )
    t.equal(made.unpriced, 'free')
    t.match(
      findings,
      /budgets\[0\]\.max_limit {2}approximate: limits \{ budget: 500 USD\/month \} of the group "North"/,
    )
    t.match(
      findings,
      /rate_limits\[0\]\.request_max_limit {2}exact: limits \{ requests: 100\/min \} of the group "Search"/,
    )
    t.match(findings, /rate_limits\[0\]\.token_max_limit {2}approximate: .*no window has that length/)
    t.match(findings, /budgets\[2\] {2}manual: nothing that is read here names it/)
    t.match(findings, /provider_configs\[0\]\.budget_id {2}manual: limits of a key hold for all its providers/)
    t.match(findings, /virtual_keys\[1\]\.rate_limit_id {2}manual: no rate limit of the file has this id/)
  },
)

const RESOURCES = `
provider_keys: [{ display_name: p, provider: groq }]
models:
  - { display_name: m, model_name: q, provider_key: p, cost: { input_per_1k: 0.0005, output_per_1k: 0.0015 }, rate_limit: { rpm: 60, tpd: 1000000, concurrency: 4 } }
  - { display_name: both, routing: { targets: [{ model: m }] }, cost: { input_per_1k: 1, output_per_1k: 2 } }
api_keys:
  - { display_name: bot, key_env: BOT_KEY, allowed_models: [m], team_id: team-1, rate_limit: { rps: 2, rph: 900 } }
  - { display_name: free, key_env: FREE_KEY, allowed_models: [m], team_id: team-2 }
rate_limit_policies:
  - { name: cap-team, scope: team, scope_ref: team-1, window: hour, max_requests: 1000 }
  - { name: cap-bot, scope: api_key, scope_ref: bot, window: minute, max_tokens: 90000 }
  - { name: odd, conditions: [{ dimension: model, operator: in, value: [m] }], limits: { rpm: 5 } }
`

t.test('import aisix: costs are prices, and rate limits are those of a model, a key or a team', async t => {
  const { made, findings } = await imported(t, 'aisix', RESOURCES)
  t.strictSame(made.prices, { 'p/q': { input: 0.5, output: 1.5 }, both: { input: 1000, output: 2000 } })
  t.strictSame(made.groups, { 'team-1': { limits: { requests: '1000/hour' } } })
  t.match(made.keys.bot, { group: 'team-1', limits: { requests: ['2/s', '900/hour'], tokens: '90000/min' } })
  t.equal(made.keys.free?.group, undefined)
  t.strictSame(made.models.m?.limits, { requests: '60/min', tokens: '1000000/day', in_flight: 4 })
  t.match(findings, /models\[0\]\.cost {2}exact: prices/)
  t.match(findings, /models\[1\]\.cost {2}approximate/)
  t.match(findings, /models\[0\]\.rate_limit\.tpd {2}approximate: .*by the calendar of time_zone/)
  t.match(findings, /api_keys\[1\]\.team_id {2}exact: nothing of the file bounds this team/)
  t.match(findings, /rate_limit_policies\[2\] {2}manual: it has conditions/)
})

const BUCKETS = `
llm:
  policies:
    apiKey: { keys: [{ key: $A_KEY, metadata: { name: a } }] }
    localRateLimit:
      - { type: requests, maxTokens: 10, tokensPerFill: 1, fillInterval: 60s }
      - { type: tokens, maxTokens: 600, tokensPerFill: 600, fillInterval: 1m }
  models:
    - name: m
      provider: groq
      requestHeaders: { set: { X-Team: search, x-api-key: written }, add: { x-more: "1" }, remove: [x-debug] }
      localRateLimit: [{ maxTokens: 5, tokensPerFill: 5, fillInterval: 1s }]
`

t.test(
  'import agentgateway: buckets are limits of all keys or of a model, and request headers are those of upstreams',
  async t => {
    const { made, findings } = await imported(t, 'agentgateway', BUCKETS)
    t.strictSame(made.groups, { everyone: { limits: { requests: '60/hour', tokens: '600/min' } } })
    t.equal(made.keys.a?.group, 'everyone')
    t.strictSame(made.models.m?.limits, { requests: '5/s' })
    t.strictSame(made.upstreams.groq?.headers, { 'x-team': 'search', 'x-more': '1' })
    t.match(findings, /localRateLimit\[0\] {2}approximate: .*a bucket of another size and the same rate/)
    t.match(findings, /policies\.localRateLimit\[1\] {2}exact: limits \{ tokens: 600\/min \} of all keys together/)
    t.match(findings, /requestHeaders\.set {2}exact/)
    t.match(findings, /requestHeaders\.set\.x-api-key {2}manual/)
    t.match(findings, /requestHeaders\.remove {2}approximate/)
  },
)

const BUDGETS = `
model_list:
  - { model_name: m, litellm_params: { model: openai/m, api_key: os.environ/K, max_budget: 100, budget_duration: 30d, rpm: 60 } }
  - { model_name: m, litellm_params: { model: groq/m, api_key: os.environ/G, rpm: 20, tpm: 9000 } }
  - { model_name: tiny, litellm_params: { model: mistral/t, api_key: os.environ/T, max_budget: 0.000000000001, budget_duration: 1d } }
router_settings:
  optional_pre_call_checks: [enforce_model_rate_limits]
  provider_budget_config: { openai: { budget_limit: 10, time_period: 2d }, away: { budget_limit: 1, time_period: 1d } }
litellm_settings:
  max_budget: 250.5
  budget_duration: 1mo
  default_key_generate_params: { max_budget: 14, budget_duration: 7d, rpm_limit: 10 }
  default_team_params: { max_budget: 50, budget_duration: 30d }
general_settings: { master_key: os.environ/MASTER, global_max_parallel_requests: 40 }
`

t.test(
  'import litellm: budgets of deployments, providers and the proxy are limits, and those of keys to come are said',
  async t => {
    const { made, findings } = await imported(t, 'litellm', BUDGETS)
    t.strictSame(made.groups, { everyone: { limits: { budget: '250.5 USD/month', in_flight: 40 } } })
    t.equal(made.keys.master?.group, 'everyone')
    t.strictSame(made.upstreams.openai?.limits, { budget: ['100 USD/month', '5 USD/day'], requests: '60/min' })
    t.strictSame(made.upstreams.groq?.limits, { requests: '20/min', tokens: '9000/min' })
    t.match(findings, /model_list\[2\]\.litellm_params\.max_budget {2}manual: .*nothing passes one so small/)
    t.match(findings, /provider_budget_config\.away {2}manual: .*no upstream of this provider/)
    t.match(
      findings,
      /default_key_generate_params\.max_budget {2}manual: write limits \{ budget: 2 USD\/day \} at each key/,
    )
    t.match(findings, /default_key_generate_params\.rpm_limit {2}manual: write limits \{ requests: 10\/min \}/)
    t.match(findings, /default_team_params\.max_budget {2}manual: .*50 USD\/month \} at the group of each team/)
  },
)

const DURATIONS = {
  '30s': '120 USD/min',
  '20h': '72 USD/day',
  '1m': '60 USD/min',
  '1h30m': '40 USD/hour',
  '500ms': '120 USD/s',
  minute: '60 USD/min',
  '1M': '60 USD/month',
  '1Y': '4.931506 USD/month',
  '31d': '60 USD/month',
} as const

t.test('the window of a limit is the one of that length, or has the same rate; other texts are reported', async t => {
  const durations = [...Object.keys(DURATIONS), '5 parsecs', '0d']
  const key = (name: string, duration: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: openai/${name}, max_budget: 60, budget_duration: ${duration} } }\n`
  const list = durations.map((duration, at) => key(`m${at}`, duration)).join('')
  const { made, findings } = await imported(t, 'litellm', `model_list:\n${list}`)
  const budgets = Object.values(made.upstreams).map(({ limits }) => (limits as { budget?: string } | undefined)?.budget)
  t.strictSame(budgets, [...Object.values(DURATIONS), undefined])
  t.equal(findings.match(/manual: .*its amount or window is not understood/g)?.length, 2)
})

const REAL = [
  { from: 'litellm', file: 'deployment-budgets.yaml', holds: '"budget":"100 USD/month"' },
  { from: 'litellm', file: 'flowm-llm-stack.yaml', holds: '"everyone":{"limits":{"budget":"100 USD/month"}}' },
  { from: 'aisix', file: 'filesource-test-31.yaml', holds: '"limits":{"requests":"300/min"}' },
  { from: 'aisix', file: 'filesource-test-288.yaml', holds: '"prices":{"balanced":{"input":500,"output":1500}}' },
  { from: 'agentgateway', file: 'llm-simple.yaml', holds: '"everyone":{"limits":{"tokens":"600/min"}}' },
] as const

for (const { from, file, holds } of REAL) {
  t.test(`import ${from}: the limits of the real file ${file} are in the result`, async t => {
    const path = join(REFERENCE, from, file)
    if (!existsSync(path)) {
      console.log(`# SKIPPED: there is no ${from}/${file} below ${REFERENCE}`)
      return
    }
    const { made } = await imported(t, from, readFileSync(path, 'utf8'))
    t.ok(JSON.stringify(made).includes(holds), JSON.stringify(made))
  })
}

t.test('import: of amounts for one window the smallest holds', async t => {
  const { made } = await imported(
    t,
    'litellm',
    `model_list:
  - { model_name: m, litellm_params: { model: openai/m, api_key: os.environ/K, max_budget: 10, budget_duration: 1d } }
router_settings: { provider_budget_config: { openai: { budget_limit: 5, time_period: 1d } } }
litellm_settings: { max_budget: 9, budget_duration: 30d }
general_settings: { max_budget: 20, budget_duration: 31d }
`,
  )
  t.strictSame(made.upstreams.openai?.limits, { budget: '5 USD/day' })
  t.strictSame(made.groups, { everyone: { limits: { budget: '9 USD/month' } } })
})
