import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'
import type { Exchange, Plan, Upstream } from '../../src/core/plan.js'
import { loadText, planOf } from './plans.js'

interface Kind {
  readonly description?: string
  readonly kind?: string
  readonly base?: string
  readonly credential?: { readonly name: string; readonly scheme?: string }
}

const folder = join(packageRoot(), 'routes', 'kinds')
const kinds = new Map(
  readdirSync(folder)
    .sort()
    .map(file => [file.replace(/\.yaml$/, ''), parse(readFileSync(join(folder, file), 'utf8')) as Kind]),
)

/** Kinds of clouds: their credential is not in the file, and their address contains a region. */
const SIGNED = new Set([
  'bedrock',
  'bedrock-compatible',
  'bedrock-messages',
  'bedrock-rerank',
  'vertex',
  'vertex-messages',
])
const REGIONAL = 'https://llm.eu-central-1.example.com'

/** For kinds that leave the address to the user. */
const OWN = 'https://llm.example.com'

const NATIVE = 'https://generativelanguage.googleapis.com'

/** Kinds that speak nothing which the routes of today serve: no model can be offered on them yet. */
const AHEAD = ['midjourney-proxy', 'dify', 'assemblyai', 'black-forest-labs', 'suno-api']

const VARIABLES = {
  UPSTREAM_KEY: 'secret-of-up',
  SIGNING_KEY: 'secret-of-up-with-32-characters-and-more',
  AZURE_TENANT_ID: 'tenant',
  AZURE_CLIENT_ID: 'client',
  KLING_ACCESS_KEY: 'access-key',
}

/** What an upstream of this kind says at most: kind, base where the kind has none, secret where there is a place for one. */
async function planWith(kind: string): Promise<Plan> {
  const lines = ['version: 1', 'upstreams:', '  up:', `    kind: ${kind}`]
  if (kinds.get(kind)?.base === undefined && !kind.startsWith('simulator'))
    lines.push(`    base: ${SIGNED.has(kind) ? REGIONAL : OWN}`)
  if (kind === 'recorded') lines.push(`    recordings: ${tmpdir()}`)
  if (!kind.startsWith('simulator') && !SIGNED.has(kind))
    lines.push(`    secret: { env: ${kind === 'kling-signed' ? 'SIGNING_KEY' : 'UPSTREAM_KEY'} }`)
  if (kind === 'bearer') lines.push('    speaks: { chat: POST /chat }')
  if (!AHEAD.includes(kind)) lines.push('models:', '  m: up')
  return planOf(await loadText(lines.join('\n'), VARIABLES))
}

function upstream(plan: Plan): Upstream {
  const found = plan.upstreams.get('up')
  if (found === undefined) throw new Error('no upstream')
  return found
}

/** How the plan would serve the model `m` on this path. */
function exchange(plan: Plan, path: string): Exchange | undefined {
  return plan.match('POST', path).route?.resolve('m')?.groups[0]?.exchanges[0]
}

for (const [name, kind] of kinds) {
  t.test(`kind ${name} says in one line what it is`, async t => {
    t.match(kind.description, /^\S.{20,110}\.$/)
  })

  t.test(`kind ${name} has an address that is public or on this machine, or none`, async t => {
    t.match(
      kind.base ?? OWN,
      /^(https:\/\/[a-z0-9.-]+(\/[a-z/]+)?|http:\/\/127\.0\.0\.1:\d+|embedded:(simulator|recordings))$/,
    )
  })

  // `gateway init` reads it there.
  t.test(`kind ${name} tells the usual variable of its key, where it is a public service`, async t => {
    if (kind.base?.startsWith('https:'))
      t.match(kind.description, /The key is usually in [A-Z][A-Z0-9]*(_[A-Z0-9]+)*_(KEY|TOKEN)\./)
  })

  t.test(`kind ${name} gives a working upstream in a few lines`, async t => {
    const up = upstream(await planWith(name))
    t.equal(up.off, undefined)
    t.equal(up.kind, name)
    t.notMatch(up.shownHeaders.join(' '), 'secret-of-up')
  })
}

/** The whole address of some calls, with the kind's own base; `test/e2e/kinds.test.ts` makes the calls below it. */
const calls: readonly [string, string, string][] = [
  ['openai', '/v1/chat/completions', 'https://api.openai.com/v1/chat/completions'],
  ['azure-openai', '/v1/chat/completions', `${OWN}/openai/v1/chat/completions`],
  ['gemini', '/v1/chat/completions', 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions'],
  ['mistral', '/v1/chat/completions', 'https://api.mistral.ai/v1/chat/completions'],
  ['deepseek', '/v1/chat/completions', 'https://api.deepseek.com/chat/completions'],
  ['groq', '/v1/chat/completions', 'https://api.groq.com/openai/v1/chat/completions'],
  ['xai', '/v1/responses', 'https://api.x.ai/v1/responses'],
  ['openrouter', '/v1/chat/completions', 'https://openrouter.ai/api/v1/chat/completions'],
  ['together', '/v1/chat/completions', 'https://api.together.ai/v1/chat/completions'],
  ['fireworks', '/v1/chat/completions', 'https://api.fireworks.ai/inference/v1/chat/completions'],
  ['cohere', '/v1/chat/completions', 'https://api.cohere.com/compatibility/v1/chat/completions'],
  ['jina', '/v1/embeddings', 'https://api.jina.ai/v1/embeddings'],
  ['voyage', '/v1/embeddings', 'https://api.voyageai.com/v1/embeddings'],
  ['cohere', '/v1/rerank', 'https://api.cohere.com/v1/rerank'],
  ['cohere', '/v2/rerank', 'https://api.cohere.com/v2/rerank'],
  ['jina', '/v1/rerank', 'https://api.jina.ai/v1/rerank'],
  ['jina', '/v2/rerank', 'https://api.jina.ai/v1/rerank'],
  ['voyage', '/v1/rerank', 'https://api.voyageai.com/v1/rerank'],
  ['vllm', '/v1/rerank', 'http://127.0.0.1:8000/v2/rerank'],
  ['llama-cpp', '/v2/rerank', `${OWN}/v1/rerank`],
  ['together', '/v1/rerank', 'https://api.together.ai/v1/rerank'],
  ['new-api', '/v1/rerank', 'http://127.0.0.1:3000/v1/rerank'],
  ['ollama', '/v1/chat/completions', 'http://127.0.0.1:11434/v1/chat/completions'],
  ['vllm', '/v1/chat/completions', 'http://127.0.0.1:8000/v1/chat/completions'],
  ['llama-cpp', '/v1/chat/completions', `${OWN}/v1/chat/completions`],
  ['lm-studio', '/v1/responses', 'http://127.0.0.1:1234/v1/responses'],
  ['new-api', '/v1/chat/completions', 'http://127.0.0.1:3000/v1/chat/completions'],
  ['one-api', '/v1/chat/completions', 'http://127.0.0.1:3000/v1/chat/completions'],
  ['xai', '/v1/images/generations', 'https://api.x.ai/v1/images/generations'],
  ['simulator', '/v1/audio/speech', 'embedded:simulator/v1/audio/speech'],
  ['openai', '/v1/responses/input_tokens', 'https://api.openai.com/v1/responses/input_tokens'],
  ['anthropic', '/v1/messages', 'https://api.anthropic.com/v1/messages'],
  ['anthropic', '/v1/messages/count_tokens', 'https://api.anthropic.com/v1/messages/count_tokens'],
  ['gemini-native', '/v1beta/models/m:generateContent', `${NATIVE}/v1beta/models/m:generateContent`],
  ['gemini-native', '/v1beta/models/m:streamGenerateContent', `${NATIVE}/v1beta/models/m:generateContent`],
  ['gemini-native', '/v1beta/models/m:countTokens', `${NATIVE}/v1beta/models/m:countTokens`],
  ['gemini-native', '/v1beta/models/m:embedContent', `${NATIVE}/v1beta/models/m:embedContent`],
  ['gemini-native', '/v1beta/models/m:batchEmbedContents', `${NATIVE}/v1beta/models/m:batchEmbedContents`],
  ['new-api', '/v1/messages', 'http://127.0.0.1:3000/v1/messages'],
  ['simulator', '/v1/messages', 'embedded:simulator/v1/messages'],
  ['simulator-generate', '/v1beta/models/m:generateContent', 'embedded:simulator/v1beta/models/m:generateContent'],
]

for (const [kind, path, address] of calls) {
  t.test(`kind ${kind} serves ${path} at ${address}`, async t => {
    const found = exchange(await planWith(kind), path)
    t.equal(`${found?.upstream.origin}${found?.call.target({ model: 'm' })}`, address)
  })
}

/** Where the calls about batches go, which name no model. */
const batches = ['POST', 'GET /a', 'DELETE /a', 'POST /a/cancel', 'GET /a/results'].map(
  (call): [string, string, string] => {
    const [method, below = ''] = call.split(' ')
    const path = `/v1/messages/batches${below}`
    return ['anthropic', `${method} ${path}`, `https://api.anthropic.com${path}`]
  },
)

for (const [kind, request, address] of batches) {
  t.test(`kind ${kind} serves ${request} at ${address}`, async t => {
    const [method = '', path = ''] = request.split(' ')
    const { route } = (await planWith(kind)).match(method, path)
    const found = route?.resolve('')?.groups[0]?.exchanges[0]
    t.equal(found?.call.method, method)
    t.equal(`${found?.upstream.origin}${found?.call.target({ id: 'a' })}`, address)
  })
}

/** Where the secret is. */
const placements: readonly [string, string, string][] = [
  ['gemini-native', 'x-goog-api-key', 'secret-of-up'],
  ['anthropic', 'x-api-key', 'secret-of-up'],
  ['midjourney-proxy', 'mj-api-secret', 'secret-of-up'],
]

for (const [kind, header, value] of placements) {
  t.test(`kind ${kind} places its secret in ${header}`, async t => {
    const { headers } = upstream(await planWith(kind))
    t.equal(headers[headers.indexOf(header) + 1], value)
  })
}

t.test('kind anthropic names the version of its protocol', async t => {
  const { headers } = upstream(await planWith('anthropic'))
  t.equal(headers[headers.indexOf('anthropic-version') + 1], '2023-06-01')
})

t.test('kinds of the native protocol have a call of their own for streams', async t => {
  const found = exchange(await planWith('gemini-native'), '/v1beta/models/m:streamGenerateContent')
  t.equal(found?.streamCall.target({ model: 'm' }), '/v1beta/models/m:streamGenerateContent?alt=sse')
})

t.test('the simulator comes as five more kinds, each of which speaks one text protocol', async t => {
  const text = ['chat', 'responses', 'messages', 'generate', 'converse']
  for (const protocol of text) {
    const { config } = await loadText(
      `version: 1\nupstreams: { up: { kind: simulator-${protocol} } }\nmodels: { m: up }\n`,
    )
    const spoken = Object.keys(config?.upstreams.up?.speaks ?? {})
    t.same(
      spoken.filter(one => text.includes(one)),
      [protocol],
    )
  }
})

t.test('what a provider calls the limit of an answer is told to translation', async t => {
  const traits = async (kind: string): Promise<unknown> =>
    (await loadText(`version: 1\nupstreams: { up: { kind: ${kind} } }\nmodels: { m: up }\n`)).config?.upstreams.up
      ?.traits
  t.match(await traits('openai'), { max_tokens_field: 'max_completion_tokens' })
  t.match(await traits('mistral'), { max_tokens_field: 'max_tokens' })
  t.match(await traits('ollama'), { fetches_urls: false })
  t.match(await traits('gemini-native'), { fetches_urls: 'https' })
})

t.test('a local server needs no secret', async t => {
  for (const kind of ['ollama', 'vllm', 'lm-studio']) {
    const yaml = `version: 1\nupstreams: { up: { kind: ${kind} } }\nmodels: { m: up }\n`
    const up = upstream(planOf(await loadText(yaml)))
    t.equal(up.off, undefined, kind)
    t.notOk(up.headers.includes('authorization'), kind)
  }
})

t.test('what a provider does not serve is not offered', async t => {
  t.equal(exchange(await planWith('groq'), '/v1/moderations'), undefined)
  t.equal(exchange(await planWith('jina'), '/v1/chat/completions'), undefined)
  t.equal(exchange(await planWith('one-api'), '/v1/images/edits'), undefined)
  t.equal(exchange(await planWith('mistral'), '/v1/audio/speech'), undefined, 'its answers have another shape')
  t.equal(
    exchange(await planWith('mistral'), '/v1/moderations'),
    undefined,
    'its answers say of nothing that it is flagged',
  )
  t.equal(exchange(await planWith('simulator-messages'), '/v1/images/generations'), undefined)
  t.equal(exchange(await planWith('openai'), '/v1/rerank'), undefined)
  t.equal(exchange(await planWith('azure-openai'), '/v1/images/variations'), undefined)
  t.equal(exchange(await planWith('azure-openai'), '/v1/moderations'), undefined)
})

t.test('rate limits pass to the client, the account behind the key does not', async t => {
  const { forward } = upstream(await planWith('openai'))
  t.ok(forward.response('x-ratelimit-remaining-tokens'))
  t.ok(forward.response('openai-processing-ms'))
  t.notOk(forward.response('openai-organization'))
  t.ok(forward.request('openai-beta'))
  t.notOk(forward.request('openai-organization'))
})

t.test('kind voyage renames what it calls otherwise', async t => {
  const found = exchange(await planWith('voyage'), '/v1/embeddings')
  const body = found?.request?.(Buffer.from('{"model":"m","input":"a","dimensions":256}'))
  t.same(JSON.parse(Buffer.from(body ?? []).toString()), { model: 'm', input: 'a', output_dimension: 256 })
  const ranking = exchange(await planWith('voyage'), '/v2/rerank')
  const asked = ranking?.request?.(Buffer.from('{"model":"m","query":"a","documents":["a"],"top_n":1}'))
  t.match(JSON.parse(Buffer.from(asked ?? []).toString()), { top_k: 1, top_n: undefined })
  const told = ranking?.response?.(Buffer.from('{"data":[]}'))
  t.equal(Buffer.from(told ?? []).toString(), '{"results":[]}')
})

t.test(
  'where an address is missing, its form is shown for kinds that have one; also while the secret is not there',
  async t => {
    const yaml = `version: 1
keys: { me: { secret: { hash: "sha256:${'0'.repeat(64)}" } } }
upstreams:
  azure: { kind: azure-openai, secret: { env: AZURE_OPENAI_API_KEY } }
  later: { kind: azure-openai, disabled: true }
models: { gpt-4o: azure, o3: later }
`
    const message = '"base" is missing here: the address of the upstream, such as https://RESOURCE.openai.azure.com'
    const told = async (env: Record<string, string>): Promise<unknown> =>
      (await loadText(yaml, env)).problems.map(({ severity, path, message }) => ({ severity, path, message }))
    t.same(await told({ AZURE_OPENAI_API_KEY: 'an-azure-key-0123456789' }), [
      { severity: 'error', path: 'upstreams.azure', message },
    ])
    t.same(await told({}), [{ severity: 'warning', path: 'upstreams.azure', message }])
  },
)
