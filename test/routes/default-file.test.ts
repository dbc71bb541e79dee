import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FAMILIES } from '../../src/core/errors.js'
import { packageRoot } from '../../src/core/package-root.js'
import type { Exchange, Plan } from '../../src/core/plan.js'
import { explainRequest, requestFacts } from '../../src/plan/explain.js'
import { loadFile, planOf } from './plans.js'

const file = join(packageRoot(), 'gateway.yaml')
const PROVIDERS = {
  OPENAI_API_KEY: 'openai-secret',
  ANTHROPIC_API_KEY: 'anthropic-secret',
  GEMINI_API_KEY: 'gemini-secret',
  GROQ_API_KEY: 'groq-secret',
}

function chat(plan: Plan, model: string): Exchange | undefined {
  return plan.match('POST', '/v1/chat/completions').route?.resolve(model)?.groups[0]?.exchanges[0]
}

t.test('the shipped file has no problem on a machine without any variable', async t => {
  t.same(
    (await loadFile(file)).problems.filter(({ severity }) => severity === 'error'),
    [],
  )
})

t.test('docs/endpoints.md names each of its routes, and docs/errors.md the body of each family', async t => {
  const page = (name: string): string => readFileSync(join(packageRoot(), `docs/${name}.md`), 'utf8')
  const [endpoints, errors] = [page('endpoints'), page('errors')]
  for (const { id } of planOf(await loadFile(file)).routes) {
    // Those under /mj/ have a page of their own.
    const last =
      id
        .replaceAll(/\{[^}]*\}/g, '')
        .split(/[/: ]/)
        .findLast(word => word !== '') ?? id
    if (!id.includes('/mj/')) t.ok(endpoints.includes(last), `${id}: ${last}`)
  }
  for (const family of FAMILIES) t.ok(errors.includes(`\n| \`${family}\` | \`{`), family)
})

t.test('it listens on loopback', async t => {
  t.equal(planOf(await loadFile(file)).listen.host, '127.0.0.1')
})

t.test('without variables only the simulator is on, and the others say what they wait for', async t => {
  const { upstreams } = planOf(await loadFile(file))
  t.equal(upstreams.get('sim')?.off, undefined)
  for (const name of ['openai', 'anthropic', 'gemini', 'groq']) t.match(upstreams.get(name)?.off, /_API_KEY/)
})

t.test('each provider is on as soon as its variable is set', async t => {
  const { upstreams } = planOf(await loadFile(file, PROVIDERS))
  for (const [name, upstream] of upstreams) t.equal(upstream.off, undefined, name)
})

t.test('its only key is the one from GATEWAY_KEY', async t => {
  const { keys } = planOf(await loadFile(file, { GATEWAY_KEY: 'my-own-key' }))
  t.match(keys.find('my-own-key', 0), { name: 'local' })
  t.match(keys.find('key-of-local', 0), { refused: 'unknown' })
})

t.test('where GATEWAY_KEY is not set a key is made', async t => {
  t.match(planOf(await loadFile(file)).keys.find('key-of-local', 0), { name: 'local' })
})

t.test('the models of the simulator are listed, its globs are not', async t => {
  const plan = planOf(await loadFile(file))
  const caller = plan.keys.find('key-of-local', 0)
  if ('refused' in caller) throw new Error('refused')
  t.same(
    plan.models.list(caller).map(({ id }) => id),
    [
      'sim-text',
      'sim-responses',
      'sim-messages',
      'sim-generate',
      'sim-embed',
      'sim-rerank',
      'sim-moderate',
      'sim-image',
      'sim-speech',
      'sim-video',
      'sim-transcribe',
      'sim-realtime',
      'midjourney',
      'niji',
      'sim-imagine',
    ],
  )
})

t.test('a fault in a model name reaches the simulator as it was written', async t => {
  const found = chat(planOf(await loadFile(file)), 'sim-text?status=429&retry-after=2')
  t.equal(found?.upstream.name, 'sim-chat')
  t.equal(found?.model, 'sim-text?status=429&retry-after=2')
})

t.test('globs lead to providers', async t => {
  const plan = planOf(await loadFile(file, PROVIDERS))
  const expected = { 'gpt-4.1': 'openai', 'claude-sonnet-4-5': 'anthropic', 'gemini-2.5-flash': 'gemini' }
  for (const [model, upstream] of Object.entries(expected)) t.equal(chat(plan, model)?.upstream.name, upstream)
})

t.test('every client of a text protocol reaches every model of the simulator', async t => {
  const plan = planOf(await loadFile(file))
  const paths = [
    ...['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1beta/models/x:generateContent'],
    '/model/x/converse',
  ]
  const models = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate']
  const translated = paths.map(path => {
    const { route } = plan.match('POST', path)
    return models.map(model => {
      const found = route?.resolve(model)?.groups[0]?.exchanges[0]
      return found === undefined ? 'not served' : (found.translation?.client.protocol ?? 'relayed')
    })
  })
  t.same(translated, [
    ['relayed', 'responses', 'messages', 'generate'],
    ['chat', 'relayed', 'messages', 'generate'],
    ['chat', 'responses', 'relayed', 'generate'],
    ['chat', 'responses', 'messages', 'relayed'],
    // No model of that file is of a kind that speaks converse alone.
    ['chat', 'responses', 'messages', 'generate'],
  ])
})

t.test('a prefix of ours is not sent on', async t => {
  t.equal(
    chat(planOf(await loadFile(file, PROVIDERS)), 'groq/llama-3.3-70b-versatile')?.model,
    'llama-3.3-70b-versatile',
  )
})

for (const model of ['o1', 'o3', 'o3-pro', 'o4-mini', 'gpt-5', 'gpt-5.1-codex']) {
  t.test(`max_tokens becomes max_completion_tokens for ${model}, and nothing else changes`, async t => {
    const found = chat(planOf(await loadFile(file, PROVIDERS)), model)
    t.equal(found?.model, model)
    const sent = (body: string): string => Buffer.from(found?.request?.(Buffer.from(body)) ?? []).toString()
    t.equal(sent('{ "max_tokens": 5, "messages": [] }'), '{ "max_completion_tokens": 5, "messages": [] }')
    t.equal(sent('{"max_tokens":5,"max_completion_tokens":7}'), '{"max_completion_tokens":7}', 'the newer name counts')
    t.equal(
      sent('{"max_tokens":5,"max_completion_tokens":null}'),
      '{"max_completion_tokens":5}',
      'unless it says nothing',
    )
  })
}

t.test('max_tokens stays for the others', async t => {
  t.equal(chat(planOf(await loadFile(file, PROVIDERS)), 'gpt-4.1')?.request, undefined)
})

t.test('files go to real providers where one is on, else to the simulator that sim-text asks', async t => {
  const first = (plan: Plan, path: string): string | undefined =>
    plan.match('POST', path).route?.resolve('')?.groups[0]?.exchanges[0]?.upstream.name
  const alone = planOf(await loadFile(file))
  t.equal(first(alone, '/v1/files'), 'sim-chat')
  t.equal(first(alone, '/upload/v1beta/files'), 'sim-generate')
  const real = planOf(await loadFile(file, PROVIDERS))
  t.equal(first(real, '/v1/files'), 'openai')
  t.equal(first(real, '/upload/v1beta/files'), 'gemini')
})

t.test('models of images and sound lead to their provider too', async t => {
  const plan = planOf(await loadFile(file, PROVIDERS))
  const paths = {
    '/v1/images/generations': ['dall-e-3', 'gpt-image-1'],
    '/v1/audio/transcriptions': ['whisper-1', 'gpt-4o-transcribe'],
    '/v1/audio/speech': ['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'],
  }
  for (const [path, models] of Object.entries(paths)) {
    for (const model of models) {
      t.equal(plan.match('POST', path).route?.resolve(model)?.groups[0]?.exchanges[0]?.upstream.name, 'openai', model)
    }
  }
})

t.test('explain tells that a path is a WebSocket, and that bodies which pass are sent once', async t => {
  const plan = planOf(await loadFile(file))
  t.match(requestFacts(plan, { method: 'GET', path: '/v1/realtime' }).error, { status: 426, code: 'upgrade_required' })
  t.match(explainRequest(plan, { method: 'POST', path: '/v1/files' }), /retry +sent once/)
})
