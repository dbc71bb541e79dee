import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { importData } from '../../src/cli/import/kinds.js'
import { READERS } from '../../src/cli/import/readers.js'
import { translate } from '../../src/cli/import/translate.js'
import { formatYaml } from '../../src/config/formatting/format.js'
import { packageRoot } from '../../src/core/package-root.js'
import { loadPlan } from '../../src/runtime/load.js'
import { run } from './bin.js'

const REFERENCE = join(process.env.REFERENCE_DIR ?? resolve(packageRoot(), '..', 'shared', 'reference'), 'imports')

/** The imported text as it is loaded, with these variables. */
async function loadedText(text: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { config, problems } = await loadPlan({
    file: 'imported.yaml',
    env,
    secrets: 'assume',
    text: Buffer.from(text),
  })
  return JSON.stringify(config ?? problems)
}

const FOREIGN = `# The team's gateway
model_list:
  # The large one, at two places
  - model_name: large
    litellm_params: { model: openai/gpt-4.1, api_key: os.environ/NORTH_KEY, rpm: 60, temperature: 0.2 }
  - model_name: large
    litellm_params:
      model: groq/large-70b # the cheap place
      api_key: sk-written-in-the-file-1234
      rpm: 20
  - model_name: small
    litellm_params: { model: hosted_vllm/small, api_base: "http://127.0.0.1:8000/v1" }
  - model_name: away
    litellm_params: { model: sagemaker/away }
router_settings:
  fallbacks: [{ large: [small] }]
  num_retries: 2
  colour: green
`

t.test('a default of max_tokens becomes the limit that translation needs, where an upstream wants one', async t => {
  const model = (name: string, params: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: ${params}, temperature: 0.5 } }\n`
  const list = model('calm', 'anthropic/claude-x, max_tokens: 900') + model('swift', 'openai/gpt-x, max_tokens: 800')
  const cwd = t.testdir({ 'foreign.yaml': `model_list:\n${list}` })
  const { code, stdout, stderr } = await run(['import', 'litellm', 'foreign.yaml'], { cwd })
  t.equal(code, 0, stderr)
  const { models } = parse(stdout) as { models: object }
  t.strictSame(models, {
    calm: {
      upstream: 'anthropic',
      as: 'claude-x',
      request: [{ default: { temperature: 0.5 } }],
      traits: { max_output: 900 },
    },
    swift: { upstream: 'openai', as: 'gpt-x', request: [{ default: { temperature: 0.5, max_tokens: 800 } }] },
  })
})

t.test('prices, an organization, the limit of output and the bounds of a lone deployment are taken over', async t => {
  const text = `model_list:
  - model_name: swift
    litellm_params: { model: openai/gpt-x, organization: org-1, rpm: 60, tpm: 90000, input_cost_per_token: 0.0000025, output_cost_per_token: 1e-05 }
    model_info: { max_output_tokens: 4096, cache_read_input_token_cost: 3e-7 }
  - { model_name: twice, litellm_params: { model: openai/gpt-x, input_cost_per_token: 0.1 } }
  - { model_name: twice, litellm_params: { model: openai/gpt-x, input_cost_per_token: 0.2, organization: os.environ/ORG } }
`
  const cwd = t.testdir({ 'foreign.yaml': text })
  const { code, stdout, stderr } = await run(['import', 'litellm', 'foreign.yaml'], { cwd })
  t.equal(code, 0, stderr)
  const { prices, upstreams, models } = parse(stdout)
  t.strictSame(prices, {
    'openai/gpt-x': { input: 2.5, output: 10, cached: 0.3 },
    'openai-2/gpt-x': { input: 100_000 },
  })
  t.strictSame(upstreams.openai.headers, { 'openai-organization': 'org-1' })
  t.strictSame(models.swift, {
    upstream: 'openai',
    as: 'gpt-x',
    traits: { max_output: 4096 },
    limits: { requests: '60/min', tokens: '90000/min' },
  })
  t.match(stderr, /rpm {2}approximate: it bounds the model here/)
  t.match(stderr, /model_list\[2\] {2}approximate: "openai-2\/gpt-x" has one price here/)
  t.match(stderr, /organization {2}manual: write it under headers/)
  writeFileSync(join(cwd, 'gateway.yaml'), stdout)
  const validated = await run(['validate', 'gateway.yaml', '--secrets', 'assume'], { cwd })
  t.equal(validated.code, 0, validated.stdout + validated.stderr)
})

t.test('a file without models is said to be of another gateway only where it is', async t => {
  const cwd = t.testdir({ 'a.yaml': 'channels: []\n' })
  const stderr = async (from: string) => (await run(['import', from, 'a.yaml'], { cwd })).stderr
  t.match(await stderr('one-api'), /the file has "channels"\n$/)
  t.match(await stderr('litellm'), /that is a file of one-api or new-api\n$/)
})

t.test('an answer without channels says so', async t => {
  const { stderr } = await run(['import', 'new-api', '-'], { input: '{ "success": true, "data": { "items": 3 } }' })
  t.match(stderr, /unsupported: it has no channels/)
})

t.test('numbers of YAML 1.1 are numbers, and other texts are found', async t => {
  const text = `model_list:
  - model_name: swift
    litellm_params: { model: openai/gpt-x, rpm: 20_000, tpm: 1_000_000, timeout: 1_200, max_tokens: 4_096, user: 4_096 }
  - { model_name: slow, litellm_params: { model: openai/gpt-y, rpm: many, timeout: soon } }
router_settings: { num_retries: +1_0, timeout: 1_0.5, allowed_fails: few }
`
  const { code, stdout, stderr } = await run(['import', 'litellm', '-'], { input: text })
  t.equal(code, 0, stderr)
  const { models, retry, timeouts, health } = parse(stdout)
  t.match(models.swift, {
    limits: { requests: '20000/min', tokens: '1000000/min' },
    timeouts: { total: '1200s' },
    request: [{ default: { max_tokens: 4096, user: '4_096' } }],
  })
  t.match({ retry, timeouts, health }, { retry: { attempts: 11 }, timeouts: { total: '10500ms' }, health: undefined })
  for (const path of ['model_list[1].litellm_params.rpm', 'model_list[1].litellm_params.timeout'])
    t.match(stderr, `${path}  manual: it is not a number, and is left out`)
  t.match(stderr, /router_settings\.allowed_fails {2}/)
})

t.test('a file in which nothing is found gives nothing', async t => {
  const portkey = '{ "strategy": { "mode": "single" }, "targets": [{ "provider": "openai", "api_key": "env" }] }'
  const own = 'version: 1\nupstreams: { sim: { kind: simulator } }\nmodels: { m: sim }\n'
  const cases = [
    ['litellm', portkey, '"strategy", "targets": that is a file of portkey'],
    ['litellm', own, '"version", "upstreams", "models": that is a file of this gateway itself'],
    ['bifrost', 'colour: green\n', 'of bifrost was found; the file has "colour"\n'],
  ] as const
  for (const [from, input, said] of cases) {
    const { code, stdout, stderr } = await run(['import', from, '-'], { input })
    t.strictSame([code, stdout], [1, ''], said)
    t.match(stderr, said)
  }
  const absent = await run(['import', 'litellm', 'config.yaml'], { cwd: t.testdir({}) })
  t.strictSame([absent.code, absent.stderr], [2, 'error: there is no config.yaml\n'])
})

t.test('import prints a configuration with its comments, and a finding for what is not the same', async t => {
  const cwd = t.testdir({ 'foreign.yaml': FOREIGN })
  const { code, stdout, stderr } = await run(['import', 'litellm', 'foreign.yaml'], { cwd })
  t.equal(code, 0, stderr)
  t.equal(
    stdout,
    `# Imported from a file of litellm. What could not be taken over was reported beside it.

version: 1
retry: { attempts: 3 }

keys:
  me: { secret: { env: GATEWAY_KEY, generate: true }, models: ["*"] }

upstreams:
  openai: { kind: openai, secret: { env: NORTH_KEY } }
  groq: { kind: groq, secret: { env: GROQ_API_KEY } }
  hosted_vllm: { kind: vllm, base: "http://127.0.0.1:8000" }

models:
  # The large one, at two places
  # the cheap place
  large:
    targets:
      - { upstream: openai, as: gpt-4.1, request: [{ default: { temperature: 0.2 } }], weight: 60 }
      - { upstream: groq, as: large-70b, weight: 20 }
    fallbacks: { overloaded: [small], timeout: [small], rate_limited: [small] }
  small: hosted_vllm
`,
  )
  const share = 'approximate: it is the share of this target; to bound it, write limits of the upstream'
  t.strictSame(stderr.trimEnd().split('\n'), [
    `foreign.yaml:5:77  model_list[0].litellm_params.rpm  ${share}`,
    'foreign.yaml:9:7  model_list[1].litellm_params.api_key  manual: the key is written in the file, and is not copied: set GROQ_API_KEY to it',
    `foreign.yaml:10:7  model_list[1].litellm_params.rpm  ${share}`,
    'foreign.yaml:14:23  model_list[3].litellm_params.model  unsupported: no kind serves "sagemaker": no kind speaks to its endpoints',
    'foreign.yaml:16:3  router_settings.fallbacks  approximate: they follow overload, rate limits and time-outs; other errors go to the client',
    'foreign.yaml:17:3  router_settings.num_retries  approximate: attempts go through the targets first, and then back to those that may be asked again',
    'foreign.yaml:18:3  router_settings.colour  unsupported: there is nothing like it here',
    'findings: 0 exact, 4 approximate, 1 manual, 2 unsupported',
  ])
})

t.test(
  'a file that cannot be read is refused with line and column, and a gateway that is not known with those that are',
  async t => {
    const cwd = t.testdir({ 'broken.yaml': 'model_list: [\nx: 1\n' })
    const broken = await run(['import', 'litellm', 'broken.yaml'], { cwd })
    t.match(broken, { code: 1, stdout: '', stderr: /^broken\.yaml:1:13 / })
    const unknown = await run(['import', 'nobody', 'broken.yaml'], { cwd })
    t.match(unknown, { code: 2, stderr: /litellm/ })
  },
)

const CLOUDS: readonly {
  readonly from: string
  readonly text: string
  readonly upstreams: string
  readonly found?: RegExp
}[] = [
  {
    from: 'litellm',
    text: `model_list:
  - { model_name: a, litellm_params: { model: bedrock/converse/x.y-v1, aws_region_name: us-west-2, aws_role_name: "arn:aws:iam::1:role/r" } }
  - { model_name: b, litellm_params: { model: bedrock/eu-central-1/x.y-v1, aws_access_key_id: os.environ/MY_ID, aws_secret_access_key: os.environ/MY_SECRET } }
  - { model_name: c, litellm_params: { model: bedrock/x.y-v1, aws_region_name: us-west-2, api_key: os.environ/AWS_BEARER_TOKEN_BEDROCK } }
  - { model_name: d, litellm_params: { model: vertex_ai/gemini-x, vertex_project: os.environ/P, vertex_location: us-east1, vertex_credentials: /keys/a.json } }
  - { model_name: e, litellm_params: { model: vertex_ai/claude-x, vertex_project: north, vertex_location: global } }
  - { model_name: f, litellm_params: { model: bedrock/x.y-v1 } }
`,
    upstreams: `upstreams:
  bedrock: { kind: bedrock, base: "https://bedrock-runtime.us-west-2.amazonaws.com", credential: { type: aws-sigv4, role: "arn:aws:iam::1:role/r" } }
  bedrock-2: { kind: bedrock, base: "https://bedrock-runtime.eu-central-1.amazonaws.com", credential: { type: aws-sigv4, access_key_id: "\${MY_ID:-unset}", secret: { env: MY_SECRET } } }
  bedrock-3: { kind: bedrock-key, base: "https://bedrock-runtime.us-west-2.amazonaws.com", secret: { env: AWS_BEARER_TOKEN_BEDROCK } }
  vertex_ai: { kind: vertex, base: "https://us-east1-aiplatform.googleapis.com/v1/projects/\${P:-project}/locations/us-east1", credential: { type: gcp, file: /keys/a.json } }
  vertex_ai-2: { kind: vertex-messages, base: "https://aiplatform.googleapis.com/v1/projects/north/locations/global" }
  bedrock-4: { kind: bedrock, base: "https://bedrock-runtime.\${AWS_REGION:-us-east-1}.amazonaws.com" }

models:
  a: { upstream: bedrock, as: x.y-v1 }
  b: { upstream: bedrock-2, as: x.y-v1 }
  c: { upstream: bedrock-3, as: x.y-v1 }
  d: { upstream: vertex_ai, as: gemini-x }
  e: { upstream: vertex_ai-2, as: claude-x }
  f: { upstream: bedrock-4, as: x.y-v1 }
`,
    found:
      /manual: its region is not in the file: set AWS_REGION\nfindings: 0 exact, 0 approximate, 1 manual, 0 unsupported/,
  },
  {
    from: 'bifrost',
    text: '{ "providers": { "bedrock": { "keys": [{ "name": "k", "bedrock_key_config": { "access_key": "env.AWS_ACCESS_KEY_ID", "secret_key": "env.AWS_SECRET_ACCESS_KEY", "region": "env.AWS_REGION" }, "models": ["x.y-v1"] }] }, "vertex": { "keys": [{ "vertex_key_config": { "project_id": "env.P", "region": "europe-west4", "auth_credentials": "env.CREDENTIALS" }, "models": ["g"] }] } } }',
    upstreams: `upstreams:
  bedrock: { kind: bedrock, base: "https://bedrock-runtime.\${AWS_REGION:-us-east-1}.amazonaws.com" }
  vertex: { kind: vertex, base: "https://europe-west4-aiplatform.googleapis.com/v1/projects/\${P:-project}/locations/europe-west4" }

models:
  bedrock/x.y-v1: { upstream: bedrock, as: x.y-v1 }
  vertex/g: { upstream: vertex, as: g }
`,
    found: /auth_credentials {2}manual: the account is not copied/,
  },
  {
    from: 'portkey',
    text: '{ "strategy": { "mode": "fallback" }, "targets": [{ "provider": "bedrock", "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "sk-written-in-the-file", "aws_region": "eu-west-1", "override_params": { "model": "x.y-v1" } }, { "provider": "vertex-ai", "vertex_project_id": "north", "vertex_region": "us-east5", "override_params": { "model": "claude-x" } }] }',
    upstreams: `upstreams:
  bedrock: { kind: bedrock, base: "https://bedrock-runtime.eu-west-1.amazonaws.com" }
  vertex-ai: { kind: vertex-messages, base: "https://us-east5-aiplatform.googleapis.com/v1/projects/north/locations/us-east5" }

models:
  "*": [{ upstream: bedrock, as: x.y-v1 }, { upstream: vertex-ai, as: claude-x }]
`,
    found:
      /aws_access_key_id {2}manual: the key is written in the file, and is not copied: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
  },
  {
    from: 'new-api',
    text: '{ "data": { "items": [{ "type": 33, "name": "a", "key": "AKIAIOSFODNN7EXAMPLE|written-in-the-file|us-west-2", "models": "m" }, { "type": 33, "name": "b", "key": "written-in-the-file|eu-west-1", "models": "n" }, { "type": 41, "name": "v", "key": "{\\"private_key\\":\\"written-in-the-file\\"}", "other": "global", "models": "g" }] } }',
    upstreams: `upstreams:
  a: { kind: bedrock, base: "https://bedrock-runtime.us-west-2.amazonaws.com" }
  b: { kind: bedrock-key, base: "https://bedrock-runtime.eu-west-1.amazonaws.com", secret: { env: B_KEY } }
  v: { kind: vertex, base: "https://aiplatform.googleapis.com/v1/projects/\${GOOGLE_CLOUD_PROJECT:-project}/locations/global" }

models: { m: { upstream: a, weight: 10 }, n: { upstream: b, weight: 10 }, g: { upstream: v, weight: 10 } }
`,
    found: /data\.items\[2\] {2}manual: its key is left out: the credential here is of type gcp/,
  },
  {
    from: 'agentgateway',
    text: 'llm:\n  models:\n    - { name: a, provider: bedrock, params: { model: x.y-v1, awsRegion: us-west-2 } }\n    - { name: b, provider: vertex, params: { model: gemini-x, vertexRegion: global, vertexProject: north } }\n',
    upstreams: `upstreams:
  bedrock: { kind: bedrock, base: "https://bedrock-runtime.us-west-2.amazonaws.com" }
  vertex: { kind: vertex, base: "https://aiplatform.googleapis.com/v1/projects/north/locations/global" }

models:
  a: { upstream: bedrock, as: x.y-v1 }
  b: { upstream: vertex, as: gemini-x }
`,
  },
]

for (const { from, text, upstreams, found } of CLOUDS) {
  t.test(`import ${from}: a provider in a cloud has its place and its account, and no secret is copied`, async t => {
    const { code, stdout, stderr } = await run(['import', from, '-'], { input: text })
    t.equal(code, 0, stderr)
    t.strictSame(parse(stdout.slice(stdout.indexOf('upstreams:\n'))), parse(upstreams))
    t.match(stderr, found ?? /findings: 0 exact, 0 approximate, 0 manual, 0 unsupported/)
    t.notMatch(stdout + stderr, /written-in-the-file|AKIA/)
  })
}

const OTHERS: readonly {
  readonly from: string
  readonly text: string
  /** What the result has from its models on, or from its upstreams on. */
  readonly models?: string
  readonly rest?: string
  readonly found?: RegExp
}[] = [
  {
    from: 'portkey',
    text: '{ "strategy": { "mode": "loadbalance" }, "targets": [{ "provider": "openai", "weight": 0.7 }, { "provider": "groq", "weight": 0.3, "override_params": { "model": "m", "seed": 1 } }] }',
    models: `models:
  "*":
    - { upstream: openai, weight: 0.7 }
    - { upstream: groq, as: m, request: [{ set: { seed: 1 } }], weight: 0.3 }
`,
  },
  {
    from: 'bifrost',
    text: '{ "providers": { "openai": { "keys": [{ "value": "env.A", "models": ["m"], "weight": 1 }] }, "groq": { "keys": [{ "value": "env.B" }] } } }',
    models: 'models:\n  openai/m: { upstream: openai, as: m }\n  "groq/*": { upstream: groq, as: "*" }\n',
  },
  {
    from: 'portkey',
    text: '{ "provider": "openai", "custom_headers": { "X-Team": "search", "x-api-key": "written" } }',
    rest: `upstreams:
  openai: { kind: openai, secret: { env: OPENAI_API_KEY }, headers: { x-team: search } }

models:
  "*": openai
`,
  },
  {
    from: 'bifrost',
    text: '{ "providers": { "openai": { "keys": [{ "value": "env.A", "models": ["m"] }], "network_config": { "extra_headers": { "X-Team": "search" } } } } }',
    rest: `upstreams:
  openai: { kind: openai, secret: { env: A }, headers: { x-team: search } }

models:
  openai/m: { upstream: openai, as: m }
`,
  },
  {
    from: 'one-api',
    text: '{ "data": [{ "type": 36, "name": "d", "models": "m", "priority": 1, "weight": 5 }, { "type": 36, "name": "e", "models": "m", "priority": 1, "weight": 90 }, { "type": 36, "name": "f", "models": "m" }] }',
    models: `models:
  m: [{ upstream: d, weight: 1 }, { upstream: e, weight: 1 }, f]
`,
  },
  {
    from: 'new-api',
    text: '{ "success": true, "data": { "id": 1, "type": 43, "name": "d", "models": "m", "openai_organization": "org-1", "header_override": "{\\"X-Team\\":\\"search\\",\\"x-key\\":\\"{api_key}\\"}" } }',
    rest: `upstreams:
  d:
    kind: deepseek
    secret: { env: D_KEY }
    headers: { openai-organization: org-1, x-team: search }

models:
  m: d
`,
  },
  {
    from: 'new-api',
    text: '{ "data": { "items": [{ "type": 43, "name": "d", "models": "m, q", "model_mapping": "{\\"m\\": \\"o\\"}" }] } }',
    models: 'models:\n  m: { upstream: d, as: o }\n  q: d\n',
  },
  {
    from: 'aisix',
    text: 'provider_keys: [{ display_name: p, provider: groq }]\nmodels:\n  - { display_name: m, model_name: q, provider_key: p }\n  - { display_name: both, routing: { targets: [{ model: m }], retry_on_429: true } }\n',
    models: 'models:\n  m: { upstream: p, as: q }\n  both: { upstream: p, as: q }\n',
    found: /retry_on_429 {2}manual: write retry \{ on \} at the model/,
  },
  {
    from: 'agentgateway',
    text: 'llm:\n  models:\n    - { name: "g/*", provider: groq, visibility: internal, transformation: { model: llmRequest.model.stripPrefix("g/") } }\n  virtualModels: [{ name: v, routing: { failover: { targets: [{ model: g/m }] } } }]\n',
    models: 'models:\n  v: { upstream: groq, as: m }\n',
  },
  {
    from: 'agentgateway',
    text: `llm:
  models:
    - { name: a, provider: groq, visibility: internal }
    - { name: b, provider: mistral, visibility: internal }
    - { name: c, provider: deepseek, visibility: internal }
  virtualModels: [{ name: v, routing: { failover: { targets: [{ model: c, priority: 1 }, { model: a, priority: 0 }, { model: b, priority: 0 }] } } }]
`,
    models: `models:
  v:
    - { upstream: groq, as: a, weight: 1 }
    - { upstream: mistral, as: b, weight: 1 }
    - { upstream: deepseek, as: c }
`,
    found: /routing\.failover {2}approximate: targets of the first priority share the load/,
  },
  {
    from: 'openrouter',
    text: '{ "model": "a/b", "messages": [], "provider": { "sort": "price" } }',
    models: 'models:\n  a/b: { upstream: openrouter, request: [{ default: { provider: { sort: price } } }] }\n',
  },
  {
    from: 'portkey',
    text: '{ "strategy": { "mode": "loadbalance" }, "targets": [{ "provider": "openai", "api_key": "sk-a", "weight": 0.7 }, { "provider": "openai", "api_key": "sk-b", "weight": 0.3 }] }',
    rest: `upstreams:
  openai: { kind: openai, secret: { env: OPENAI_API_KEY } }
  openai-2: { kind: openai, secret: { env: OPENAI_API_KEY_2 } }

models:
  "*": [{ upstream: openai, weight: 0.7 }, { upstream: openai-2, weight: 0.3 }]
`,
    found: /targets\[1\]\.api_key {2}manual: .* set OPENAI_API_KEY_2 to it/,
  },
  {
    from: 'portkey',
    text: '{ "strategy": { "mode": "loadbalance" }, "targets": [{ "provider": "openai", "api_key": "sk-a", "weight": 0.7 }, { "provider": "openai", "api_key": "sk-a", "weight": 0.3 }] }',
    rest: `upstreams:
  openai: { kind: openai, secret: { env: OPENAI_API_KEY } }

models:
  "*": { upstream: openai, weight: 1 }
`,
  },
  {
    from: 'portkey',
    text: '{ "strategy": { "mode": "fallback" }, "targets": [{ "virtual_key": "openai-prod" }, { "virtual_key": "openai-dev" }, { "provider": "@openai-eu" }] }',
    rest: `upstreams:
  openai-prod: { kind: openai, secret: { env: OPENAI_API_KEY } }
  openai-dev: { kind: openai, secret: { env: OPENAI_API_KEY_2 } }
  openai-eu: { kind: openai, secret: { env: OPENAI_API_KEY_3 } }

models:
  "*": [openai-prod, openai-dev, openai-eu]
`,
    found: /targets\[1\] {2}manual: set OPENAI_API_KEY_2 to its key/,
  },
  {
    from: 'litellm',
    text: `model_list:
  - { model_name: m, litellm_params: { model: azure/x, api_base: "https://one.openai.azure.com", api_key: key-one } }
  - { model_name: m, litellm_params: { model: azure/x, api_base: "https://two.openai.azure.com", api_key: key-two } }
  - { model_name: m, litellm_params: { model: azure/x, api_base: "https://six.openai.azure.com", api_key: os.environ/AZURE_OPENAI_API_KEY } }
`,
    rest: `upstreams:
  azure:
    kind: azure-openai
    base: "https://one.openai.azure.com"
    secret: { env: AZURE_OPENAI_API_KEY_2 }
  azure-2:
    kind: azure-openai
    base: "https://two.openai.azure.com"
    secret: { env: AZURE_OPENAI_API_KEY_3 }
  azure-3:
    kind: azure-openai
    base: "https://six.openai.azure.com"
    secret: { env: AZURE_OPENAI_API_KEY }

models:
  m:
    - { upstream: azure, as: x, weight: 1 }
    - { upstream: azure-2, as: x, weight: 1 }
    - { upstream: azure-3, as: x, weight: 1 }
`,
  },
  {
    from: 'bifrost',
    text: '{ "providers": { "openai": { "keys": [{ "name": "k1", "value": "sk-1" }, { "name": "k2", "value": "sk-2" }, { "name": "k3", "value": "" }] } } }',
    rest: `upstreams:
  openai-k1: { kind: openai, secret: { env: OPENAI_API_KEY } }
  openai-k2: { kind: openai, secret: { env: OPENAI_API_KEY_2 } }
  openai-k3: { kind: openai, secret: { env: OPENAI_API_KEY_3 } }

models:
  "openai/*":
    - { upstream: openai-k1, as: "*", weight: 1 }
    - { upstream: openai-k2, as: "*", weight: 1 }
    - { upstream: openai-k3, as: "*", weight: 1 }
`,
  },
  {
    from: 'aisix',
    text: 'provider_keys: [{ display_name: p, provider: groq, api_key: sk-1 }, { display_name: r, provider: groq, api_key: sk-2 }]\nmodels: [{ display_name: m, provider_key: p }, { display_name: o, provider_key: r }]\n',
    rest: `upstreams:
  p: { kind: groq, secret: { env: GROQ_API_KEY } }
  r: { kind: groq, secret: { env: GROQ_API_KEY_2 } }

models:
  m: p
  o: r
`,
  },
  {
    from: 'new-api',
    text: '{ "data": { "items": [{ "id": 1, "type": 1, "name": "渠道一", "models": "m" }, { "id": 2, "type": 1, "name": "渠道二", "models": "m" }, { "id": 3, "type": 43, "name": "深度求索", "models": "m" }] } }',
    rest: `upstreams:
  imported: { kind: openai, secret: { env: IMPORTED_KEY } }
  imported-2: { kind: openai, secret: { env: IMPORTED_KEY_2 } }
  imported-3: { kind: deepseek, secret: { env: IMPORTED_KEY_3 } }

models:
  m:
    - { upstream: imported, weight: 10 }
    - { upstream: imported-2, weight: 10 }
    - { upstream: imported-3, weight: 10 }
`,
    found: /items\[2\]\.key {2}manual: keys are not copied: set IMPORTED_KEY_3\n/,
  },
  {
    from: 'litellm',
    text: `model_list:
  - { model_name: m, litellm_params: { model: openai/x5 } }
  - { model_name: m, litellm_params: { model: openai/x3, order: 2 } }
  - { model_name: m, litellm_params: { model: openai/x1, order: 1 } }
  - { model_name: m, litellm_params: { model: openai/x2, order: 1 } }
  - { model_name: m, litellm_params: { model: openai/x4, order: 2 } }
`,
    models: `models:
  m:
    - { upstream: openai, as: x1, weight: 1 }
    - { upstream: openai, as: x2, weight: 1 }
    - { upstream: openai, as: x3 }
    - { upstream: openai, as: x4 }
    - { upstream: openai, as: x5 }
`,
    found: /model_list\[4\] {2}approximate: those of the first order share the load/,
  },
  {
    from: 'agentgateway',
    text: `llm:
  models: [{ name: a, provider: groq, visibility: internal }, { name: b, provider: mistral, visibility: internal }]
  virtualModels: [{ name: v, routing: { weighted: { targets: [{ model: a, weight: 0 }, { model: b, weight: 3 }] } } }]
`,
    models: 'models:\n  v: { upstream: mistral, as: b, weight: 3, retry: { attempts: 1 } }\n',
    found: /targets\[0\] {2}exact: its weight is 0, so it is left out/,
  },
]

for (const { from, text, models, rest, found } of OTHERS) {
  t.test(`import ${from} reads standard input and writes what means the same`, async t => {
    const { code, stdout, stderr } = await run(['import', from, '-'], { input: text })
    t.equal(code, 0, stderr)
    if (models !== undefined) t.equal(stdout.slice(stdout.indexOf('models:\n')), models)
    if (rest !== undefined) t.equal(stdout.slice(stdout.indexOf('upstreams:\n')), rest)
    t.match(stderr, found ?? /findings: \d/)
  })
}

t.test('members of bodies and headers are copied without secrets and without variables', async t => {
  const text = `model_list:
  - model_name: m
    litellm_params:
      model: "openai/x-\${HOME}"
      user: os.environ/USER_NAME
      max_tokens: 90
      extra_headers: { X-Org: os.environ/ORG_ID, X-Form: "v-\${HOME}" }
      extra_body:
        search_key: sk-proj-ABCdef123456GHI789
        data_sources: [{ parameters: { authentication: { key: hunter2secret } } }]
        form: "Hello \${HOME}"
        env: os.environ/FOO
        prompt_cache_key: north
        stop_token_ids: [1, 2]
        authorization: hunter2header
        shape: { properties: { token: { type: string }, author: { type: string } }, authors: [Ann] }
`
  const { code, stdout, stderr } = await run(['import', 'litellm', '-'], { input: text, env: { HOME: '/home/me' } })
  t.equal(code, 0, stderr)
  t.notMatch(stdout + stderr, /hunter2|sk-proj|os\.environ/)
  const { upstreams, models } = parse(stdout)
  t.strictSame(upstreams.openai.headers, { 'x-form': 'v-$${HOME}' })
  t.strictSame(models.m.request, [
    { default: { max_tokens: 90 } },
    {
      set: {
        ...{ form: 'Hello $${HOME}', prompt_cache_key: 'north', stop_token_ids: [1, 2] },
        ...{
          'shape.properties.token.type': 'string',
          'shape.properties.author.type': 'string',
          'shape.authors': ['Ann'],
        },
      },
    },
  ])
  const loaded = await loadedText(stdout, { HOME: '/home/me' })
  for (const literal of [`x-\${HOME}`, `v-\${HOME}`, `Hello \${HOME}`]) t.ok(loaded.includes(literal), loaded)
  for (const name of ['USER_NAME', 'ORG_ID', 'FOO'])
    t.equal(stderr.split(`manual: write \${${name}}`).length, 2, stderr)
  for (const name of ['search_key', 'authentication.key']) t.match(stderr, `${name}  manual: it may be a secret`)
})

t.test('what a channel or a target adds to bodies is copied without secrets', async t => {
  const override = { api_key: 'hunter2', n: { token: 'tok-secret' }, 'a.b': 1, seed: 2 }
  const channel = { type: 1, name: 'c', models: 'm', param_override: JSON.stringify(override) }
  const target = { provider: 'openai', default_params: { secret: 'hunter2', seed: 2 }, override_params: override }
  for (const [from, foreign] of [
    ['one-api', channel],
    ['portkey', target],
  ] as const) {
    const { code, stdout, stderr } = await run(['import', from, '-'], { input: JSON.stringify(foreign) })
    t.equal(code, 0, stderr)
    t.notMatch(stdout + stderr, /hunter2|tok-secret/)
    t.match(stdout, /seed: 2/)
    t.match(stderr, /api_key {2}manual: it may be a secret/)
    if (from === 'one-api') t.match(stderr, /param_override {2}unsupported: a member with such a name cannot be set/)
  }
})

t.test(
  'import bifrost: a list that is empty or absent allows nothing, and a name is allowed by a glob that serves it',
  async t => {
    const provider_configs = (allowed_models?: readonly string[]): object => ({
      provider_configs: [{ provider: 'openai', ...(allowed_models && { allowed_models }) }],
    })
    const callers = {
      none: {},
      empty: { provider_configs: [] },
      unlisted: provider_configs(),
      listed: provider_configs([]),
      all: provider_configs(['*']),
      one: provider_configs(['gpt-4o']),
    }
    const virtual_keys = Object.entries(callers).map(([name, terms]) => ({ name, value: `env.${name}`, ...terms }))
    const providers = {
      openai: { keys: [{ value: 'env.A', models: ['*'] }] },
      groq: { keys: [{ value: 'env.B', models: [] }] },
    }
    const input = JSON.stringify({ providers, governance: { virtual_keys } })
    const { code, stdout, stderr } = await run(['import', 'bifrost', '-'], { input })
    t.equal(code, 0, stderr)
    const { keys, models } = parse(stdout) as { keys: Record<string, { models: string[] }>; models: object }
    t.strictSame(Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, key.models])), {
      ...{ none: [], empty: [], unlisted: [], listed: [], all: ['openai/*'], one: ['openai/gpt-4o'] },
    })
    t.strictSame(models, { 'openai/*': { upstream: 'openai', as: '*' } })
    t.equal(stderr.split('approximate: empty or absent, it allows nothing').length, 6, stderr)
  },
)

t.test('callers whose names are alike in this language stay apart', async t => {
  const api_keys = ['甲', '乙'].map(name => ({ display_name: name, key: 'sk-x', allowed_models: ['*'] }))
  const { stdout } = await run(['import', 'aisix', '-'], { input: JSON.stringify({ api_keys }) })
  t.strictSame(parse(stdout).keys, {
    imported: { secret: { env: 'IMPORTED_KEY' }, models: ['*'] },
    'imported-2': { secret: { env: 'IMPORTED_KEY_2' }, models: ['*'] },
  })
})

/** Types that have protocols of their own, which no kind speaks. */
const STRANGE = {
  'one-api': [0, 11, 15, 18, 21, 22, 23, 34, 38, 43, 46],
  'new-api': [0, 11, 15, 18, 21, 22, 23, 36, 37, 44, 49, 50, 51, 52, 53, 54, 56, 57],
} as const
/** All types that the gateways number, up to the last. */
const TYPES = {
  'one-api': Array.from({ length: 52 }, (_, type) => type),
  'new-api': Array.from({ length: 58 }, (_, type) => type).filter(type => ![28, 29, 30, 32].includes(type)),
} as const

for (const name of ['one-api', 'new-api'] as const) {
  t.test(`a channel of each type of ${name} becomes an upstream, or it is said that no kind is known`, async t => {
    const data = await importData(name)
    const reader = READERS[String(data.reader)]
    if (reader === undefined) throw new Error(`no reader for ${name}`)
    const strange: readonly number[] = STRANGE[name]
    for (const type of TYPES[name]) {
      // As its API writes rows: what is not set is null or an empty text, and the key is left out.
      const unset = { key: '', openai_organization: null, param_override: null, header_override: null, setting: '' }
      const row = { id: 3, type, status: 1, name: 'c', weight: 2, base_url: '', models: 'm', ...unset, settings: '' }
      const text = JSON.stringify({ success: true, message: '', data: [row] })
      const result = await translate({ name, reader, data }, 'channels.json', text, '*')
      if ('problems' in result) throw new Error(JSON.stringify(result.problems))
      const isKnown = /^upstreams:\n {2}c:/m.test(result.text)
      t.equal(isKnown, !strange.includes(type), `${type}`)
      const isSaid = result.findings.some(({ message }) =>
        /^no kind (?:is known for the type \d|serves "\w)/.test(message),
      )
      t.equal(isSaid, !isKnown, `${type}: ${JSON.stringify(result.findings)}`)
      if (!isKnown) continue
      const loaded = await loadPlan({ file: 'x.yaml', env: {}, secrets: 'assume', text: Buffer.from(result.text) })
      t.ok(loaded.plan, `${type}: ${JSON.stringify(loaded.problems)}`)
    }
    const reference = join(REFERENCE, name, 'channel-types.json')
    if (!existsSync(reference)) return void console.log(`# SKIPPED: no types of ${name} below ${REFERENCE}`)
    const numbered = JSON.parse(readFileSync(reference, 'utf8')) as readonly { readonly type: number }[]
    t.strictSame(
      numbered.map(one => one.type).sort((a, b) => a - b),
      TYPES[name],
    )
  })
}

t.test('a channel is read from each shape in which it is written', async t => {
  const channel = { type: 19, name: 'c', key: 'k', models: 'm' }
  const shapes = [
    ...[{ channels: [channel] }, { data: [channel] }, { data: { items: [channel] } }, { data: channel }],
    ...[{ mode: 'single', channel }, channel],
  ]
  for (const shape of shapes) {
    const { code, stdout, stderr } = await run(['import', 'new-api', '-'], { input: JSON.stringify(shape) })
    t.equal(code, 0, stderr)
    const upstreams = 'upstreams:\n  c: { kind: openai-compatible, base: "https://api.360.cn", secret: { env: C_KEY } }'
    t.ok(stdout.includes(upstreams), `${JSON.stringify(shape)}: ${stdout}`)
    t.match(stderr, /0 unsupported$/m)
  }
})

/** Files of each gateway that an ordinary run reads; ALL_RECORDINGS=1 reads all. */
const MAX_FILES = 18

/** Real files, by gateway: all of a folder that end so, but for those that upstream itself has broken or that are something else. */
const REAL = {
  litellm: { ends: '.yaml', least: 12 },
  portkey: { ends: '.json', least: 12 },
  bifrost: { ends: '.json', least: 10 },
  'one-api': { ends: '.json', least: 1 },
  'new-api': { ends: '.json', least: 4 },
  agentgateway: { ends: '.yaml', least: 10 },
  aisix: { ends: '.yaml', least: 10 },
  openrouter: { ends: '.json', least: 10 },
} as const

for (const [name, { ends, least }] of Object.entries(REAL)) {
  t.test(`real files of ${name} become valid configurations, without any secret`, async t => {
    if (!existsSync(join(REFERENCE, name))) {
      console.log(`# SKIPPED: no files of ${name} below ${REFERENCE}`)
      return
    }
    const data = await importData(name)
    const reader = READERS[String(data.reader)]
    if (reader === undefined) throw new Error(`no reader for ${name}`)
    let count = 0
    const files = filesBelow(join(REFERENCE, name), ends)
    for (const file of process.env.ALL_RECORDINGS === '1' ? files : files.slice(0, MAX_FILES)) {
      const text = readFileSync(file, 'utf8')
      const result = await translate({ name, reader, data }, file, text, '*')
      if ('problems' in result) continue
      const { plan, problems } = await loadPlan({
        file: join(dirname(file), 'imported.yaml'),
        env: {},
        secrets: 'assume',
        text: Buffer.from(result.text),
      })
      t.ok(plan, `${file}: ${JSON.stringify(problems.filter(({ severity }) => severity === 'error'))}`)
      t.ok('text' in formatYaml('x.yaml', result.text), file)
      const secrets = text.match(/\bsk-[\w-]{4,}/g) ?? []
      for (const secret of secrets) t.notOk(result.text.includes(secret), `${file}: a secret is copied`)
      for (const { message } of result.findings) for (const secret of secrets) t.notOk(message.includes(secret), file)
      count++
    }
    t.ok(count >= least, `${count} files`)
  })
}

function filesBelow(folder: string, ends: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ends) && !/schema|channel-types/.test(name))
    .map(name => join(folder, name))
    .filter(file => statSync(file).isFile())
}
