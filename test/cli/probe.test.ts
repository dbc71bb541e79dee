import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { declarationOf, driftOf, undecided } from '../../src/cli/probing/findings.js'
import { runProbes } from '../../src/cli/probing/run.js'
import { loadPlan } from '../../src/runtime/load.js'
import { UpstreamLine } from '../../src/runtime/upstream-line.js'
import { sameAsGolden } from '../helpers/golden-file.js'
import { listening } from '../helpers/listening.js'
import { run } from './bin.js'

interface Case {
  /** Whether pictures are made, too. */
  readonly pictures?: true
  readonly simulate: string
  readonly traits?: object
  readonly request?: readonly object[]
  /** What single probes find. */
  readonly found?: Readonly<Record<string, string>>
}

const WITHOUT_CHAT = { max_tokens: 'no', max_completion_tokens: 'no' }

/** What the whole simulator has beside the defaults. */
const ALL_TRAITS = {
  image_inputs: 'parts',
  rerank: ['max_tokens_per_doc', 'priority'],
  embedding_tasks: { field: 'input_type', words: { RETRIEVAL_QUERY: 'query', RETRIEVAL_DOCUMENT: 'document' } },
}
const TASKS = {
  ...{ RETRIEVAL_QUERY: 'retrieval.query', RETRIEVAL_DOCUMENT: 'retrieval.passage' },
  ...{ SEMANTIC_SIMILARITY: 'text-matching', CLASSIFICATION: 'classification' },
}

/** Simulated servers, each without one thing. */
const SERVERS: Readonly<Record<string, Case>> = {
  whole: {
    simulate: 'jitter=0ms',
    found: {
      ...{ embeddings: '256', error: 'compatible', stream: 'yes', tools: 'yes' },
      ...{ https_urls: 'yes', http_urls: 'yes', moderations: 'yes', moderates: 'not asked', makes_images: 'not asked' },
    },
  },
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
  mute: { simulate: 'lacks=speech', traits: { audio: 'generate' }, found: { speech: 'no', generated_sound: 'yes' } },
  silent: { simulate: 'lacks=speech.sound', found: { speech: 'no', generated_sound: 'no' } },
  objects: { simulate: 'lacks=image_parts', traits: { image_inputs: 'objects' } },
  texts: { simulate: 'lacks=image_parts.image_objects', traits: { image_inputs: undefined } },
  unhurried: {
    simulate: 'lacks=priority',
    traits: { rerank: ['max_tokens_per_doc'] },
    found: { rerank_priority: 'no' },
  },
  uncut: { simulate: 'lacks=max_tokens_per_doc', traits: { rerank: ['priority'] } },
  plain_ranks: {
    simulate: 'lacks=max_tokens_per_doc.priority',
    traits: { rerank: undefined },
    found: { rerank: 'yes' },
  },
  inward: { simulate: 'lacks=urls', traits: { fetches_urls: false }, found: { https_urls: 'no' } },
  careful: { simulate: 'lacks=http_urls', traits: { fetches_urls: 'https' } },
  messenger: { simulate: 'lacks=chat.urls', traits: { fetches_urls: false }, found: { https_urls: 'no' } },
  native: { simulate: 'lacks=chat.messages', traits: { fetches_urls: true } },
  native_careful: { simulate: 'lacks=chat.messages.http_urls', traits: { fetches_urls: 'https' } },
  native_inward: { simulate: 'lacks=chat.messages.urls', found: { https_urls: 'no' } },
  tasked: { simulate: 'lacks=input_type', traits: { embedding_tasks: { field: 'task', words: TASKS } } },
  purposeless: { simulate: 'lacks=input_type.task', traits: { embedding_tasks: undefined } },
  unjudging: { simulate: 'lacks=moderations', found: { moderations: 'no', moderates: 'no' } },
  painter: { simulate: 'jitter=0ms', pictures: true, found: { makes_images: 'yes', several_images: 'not asked' } },
  generator: {
    ...{ simulate: 'lacks=made_images', pictures: true },
    found: { makes_images_generate: 'yes', several_images: 'yes', makes_images_chat: 'not asked' },
  },
  one_picture: { simulate: 'lacks=made_images.several', pictures: true, traits: { several_images: false } },
  predictor: {
    ...{ simulate: 'lacks=made_images.generated_images', pictures: true, traits: { images: 'predict' } },
    found: { makes_images_predict: 'yes', several_images: 'not asked' },
  },
  drawing_chat: {
    ...{ simulate: 'lacks=made_images.generated_images.predicted_images', pictures: true, traits: { images: 'chat' } },
    found: { several_images: 'yes' },
  },
  one_of_chat: {
    ...{ simulate: 'lacks=made_images.generated_images.predicted_images.several', pictures: true },
    traits: { images: 'chat', several_images: false },
  },
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
    const line = await UpstreamLine.open(plan, config, name, {})
    if (line === undefined) throw new Error(`${name} is off`)
    const findings = await runProbes(line, 'sim-text', server).finally(() => line.close())
    const found = new Map(findings.map(one => [one.name, one.found]))
    if (name === 'whole') for (const [probe, value] of found) usual.set(probe, value)
    const { traits, request, speaks } = declarationOf(findings)
    const expected = Object.entries({ ...ALL_TRAITS, ...server.traits }).filter(([, value]) => value !== undefined)
    t.strictSame({ traits, request }, { traits: Object.fromEntries(expected), request: server.request ?? [] }, name)
    for (const [probe, value] of Object.entries(server.found ?? {}))
      t.equal(found.get(probe), value, `${name}: ${probe}`)
    t.equal('embeddings' in speaks, true)
  }
  t.notOk([...usual.values()].includes('unknown'), JSON.stringify([...usual]))
})

/** What providers say to a limit that is too large, and the limit that they name; 0: none, for that of a context is another. */
const REFUSALS: readonly (readonly [said: string, limit: number])[] = [
  [
    'max_tokens: 100000000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-20250514',
    64_000,
  ],
  [
    'max_tokens is too large: 100000000. This model supports at most 16384 completion tokens, whereas you provided 100000000.',
    16_384,
  ],
  ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8192],
  ['<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 65,536]', 65_536],
  [
    'The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 100000000 instead. Request id: 0217752964393142fa50af',
    12_288,
  ],
  [
    '`max_completion_tokens` must be less than or equal to `8192`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model',
    8192,
  ],
  ['too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model', 4096],
  [
    'Unable to submit request because it has a maxOutputTokens value of 100000000 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.',
    8192,
  ],
  [
    'The maximum tokens you requested exceeds the model limit of 10000. Try again with a maximum tokens value that is lower than 10000.',
    10_000,
  ],
  [
    "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens (1250025 in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
    0,
  ],
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 100000000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens (100000000 > 64001 - 24235). None",
    0,
  ],
  [
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 100000021 tokens (21 of text input, 100000000 in the output). Please reduce the length of either one",
    0,
  ],
  ["Invalid 'max_tokens': integer below minimum value. Expected a value >= 0, but got -1 instead.", 0],
  ['The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).', 0],
  ['max_tokens: 100000000 > 100000000, which is the maximum of model-2024', 0],
]

/** A line to an upstream of one's own. */
async function lineTo(t: Test, server: Server): Promise<UpstreamLine> {
  const base = `http://127.0.0.1:${await listening(t, server)}`
  const text = CONFIG.replace('upstreams:\n', `upstreams:\n  own: { kind: openai-compatible, base: "${base}" }\n`)
  const file = join(t.testdir({ 'gateway.yaml': text }), 'gateway.yaml')
  const { plan, config } = await loadPlan({ file, env: {}, secrets: 'assume' })
  if (plan === undefined || config === undefined) throw new Error('the configuration is not valid')
  const line = await UpstreamLine.open(plan, config, 'own', {})
  if (line === undefined) throw new Error('it is off')
  t.teardown(() => line.close())
  return line
}

t.test('the limit of output is what the words of an error name so, and no other number', async t => {
  let said = ''
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { max_tokens: old, max_completion_tokens: asked = old } = JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(asked > 64 ? 400 : 200, { 'content-type': 'application/json' })
      // Some servers escape signs in JSON.
      const text = JSON.stringify(asked > 64 ? { error: { message: said } } : { choices: [] })
      response.end(text.replaceAll('>', '\\u003e').replaceAll('<', '\\u003c'))
    })
  })
  const line = await lineTo(t, server)
  for (const [message, limit] of REFUSALS) {
    said = message
    const findings = await runProbes(line, 'm')
    const found = findings.find(({ name }) => name === 'max_output')?.found
    t.equal(found, limit === 0 ? 'not named' : String(limit), message)
    t.equal(declarationOf(findings).traits.max_output, limit === 0 ? undefined : limit, message)
  }
})

t.test('what is declared of media is held against what was found', t => {
  const find = (found: Readonly<Record<string, string>>) =>
    Object.entries(found).map(([name, value]) => ({ name, what: name, found: value }))
  const drift = (found: Readonly<Record<string, string>>, traits: object) => {
    const findings = find(found)
    return driftOf(declarationOf(findings), findings, { traits, speaks: { embeddings: {} } })
  }
  const ranks = { rerank: 'yes', rerank_priority: 'no', rerank_max_tokens_per_doc: 'yes' }
  t.strictSame(drift(ranks, { rerank: ['max_tokens_per_doc', 'truncation'] }), [])
  t.strictSame(drift(ranks, { rerank: ['priority'] }), [
    'traits.rerank: declared ["priority"], found ["max_tokens_per_doc"]',
  ])
  t.strictSame(drift({ ...ranks, rerank: 'no' }, { rerank: ['priority'] }), [], 'the model does not rank')
  const both = { embeddings: '256', image_objects: 'yes', image_parts: 'yes' }
  t.strictSame(drift({ embeddings: 'unknown', image_parts: 'no' }, { image_inputs: 'parts' }), [], 'it does not embed')
  t.strictSame(drift(both, { image_inputs: 'objects' }), [], 'the other form works, too')
  t.strictSame(drift({ speech: 'no', generated_sound: 'yes' }, {}), [
    'traits.audio: declared nothing, found "generate"',
  ])
  t.strictSame(drift({ speech: 'no', generated_sound: 'yes' }, { audio: 'generate' }), [])
  t.end()
})

t.test('what is declared of addresses, judges and pictures is held against what was found', t => {
  const drift = (found: Readonly<Record<string, string>>, traits: object) => {
    const findings = Object.entries(found).map(([name, value]) => ({ name, what: name, found: value }))
    return driftOf(declarationOf(findings), findings, { traits, speaks: { embeddings: {} } })
  }
  const chat = { max_completion_tokens: 'yes' }
  const inward = { ...chat, https_urls: 'no', http_urls: 'not asked' }
  t.strictSame(drift(inward, {}), ['traits.fetches_urls: declared nothing, found false'])
  t.strictSame(drift(inward, { fetches_urls: false }), [])
  const fetching = { ...chat, https_urls: 'yes', http_urls: 'yes' }
  t.strictSame(drift(fetching, {}), [])
  t.strictSame(drift(fetching, { fetches_urls: 'https' }), ['traits.fetches_urls: declared "https", found true'])
  t.strictSame(drift({ ...chat, https_urls: 'unknown' }, { fetches_urls: false }), [], 'it did not show')
  const purposes = { embeddings: '8', input_type_query: 'no', input_type_document: 'yes' }
  const words = { RETRIEVAL_DOCUMENT: 'document' }
  t.strictSame(drift(purposes, { embedding_tasks: { field: 'input_type', words } }), [])
  t.equal(drift(purposes, { embedding_tasks: { field: 'input_type', words: { RETRIEVAL_QUERY: 'query' } } }).length, 1)
  t.strictSame(drift({ moderates: 'no' }, { moderates: true }), ['traits.moderates: declared true, found nothing'])
  t.strictSame(drift({ moderates: 'yes' }, {}), [], 'what may judge need not')
  const painter = { makes_images: 'no', makes_images_generate: 'no', makes_images_predict: 'no' }
  t.strictSame(drift({ ...painter, makes_images_chat: 'yes', several_images: 'no' }, {}), [
    'traits.images: declared nothing, found "chat"',
    'traits.several_images: declared nothing, found false',
  ])
  t.strictSame(drift({ ...painter, several_images: 'yes' }, { images: 'generate', several_images: false }), [
    'traits.images: declared "generate", found nothing',
    'traits.several_images: declared false, found nothing',
  ])
  const unasked = { makes_images: 'not asked', several_images: 'not asked' }
  t.strictSame(drift(unasked, { images: 'chat', several_images: false }), [])
  t.end()
})

interface Asked {
  readonly messages?: readonly { readonly content: unknown }[]
  readonly response_format?: { readonly json_schema: { readonly name: string } }
}

/** A server of chat whose answers, or refusals, are made from what was asked. */
function chatServer(answer: (asked: Asked, path: string) => { readonly status?: number; readonly body: object }) {
  return createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { status = 200, body } = answer(JSON.parse(Buffer.concat(chunks).toString()), request.url ?? '')
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
}

const saying = (content: string) => ({ body: { choices: [{ message: { role: 'assistant', content } }] } })

/** What is said of a text; and what the probe makes of that. */
const JUDGES: readonly (readonly [name: string, says: (texts: readonly string[]) => unknown, found: string])[] = [
  ['right', texts => texts.map(text => (/kill|stab|shoot/.test(text) ? 0.9 : 0.1)), 'yes'],
  ['too stern', texts => texts.map(() => 1), 'no'],
  ['too mild', texts => texts.map(() => 0), 'no'],
  ['no scores', texts => texts.map(text => (/kill|stab|shoot/.test(text) ? 90 : 0)), 'no'],
  ['too few', texts => texts.slice(1).map(() => 0), 'unknown'],
  ['cut short', () => '0.1, 0.', 'unknown'],
]

t.test('a model of texts moderates if it judges each text right', async t => {
  for (const [name, says, expected] of JUDGES) {
    const server = chatServer(({ messages = [], response_format: format }, path) => {
      if (path !== '/v1/chat/completions') return { status: 404, body: { error: { message: 'not found' } } }
      if (format?.json_schema.name !== 'scores') return saying(format === undefined ? 'yes' : '{"city":"Paris"}')
      return saying(JSON.stringify({ results: says(JSON.parse(String(messages.at(-1)?.content))) }))
    })
    const findings = await runProbes(await lineTo(t, server), 'm')
    t.equal(findings.find(one => one.name === 'moderates')?.found, expected, name)
    t.equal(declarationOf(findings).traits.moderates, expected === 'yes' ? true : undefined, name)
  }
})

/** What servers say of an address at which nothing is. */
const SAID_OF_ADDRESSES: readonly (readonly [said: string, found: string])[] = [
  ['Error while downloading https://picture.invalid/a.png.', 'yes'],
  ['Unable to download the file. Please verify the URL and try again.', 'yes'],
  ['Cannot connect to host picture.invalid:443 ssl:default [Name or service not known]', 'yes'],
  ['dial tcp: lookup picture.invalid: no such host', 'yes'],
  ['Failed to fetch image: unknown host', 'yes'],
  ['image URLs are not currently supported, please use base64 encoded data instead', 'no'],
  ['illegal base64 data at input byte 4', 'no'],
  ['Fetching of images is disabled', 'no'],
  ['Remote images are not allowed here', 'no'],
  ['Something went wrong.', 'unknown'],
]

t.test('the words of a server tell whether it fetches; an address of a picture tells more', async t => {
  let said = ''
  let reachable: string | undefined
  const server = chatServer(({ messages = [] }) => {
    const url = /"url":"(https?:[^"]+)"/.exec(JSON.stringify(messages))?.[1]
    if (url === undefined || url === reachable) return saying('yes')
    return { status: 400, body: { error: { message: said } } }
  })
  const line = await lineTo(t, server)
  const given = 'https://pictures.example/a.png'
  for (const [message, expected] of SAID_OF_ADDRESSES) {
    said = message
    reachable = undefined
    const findings = await runProbes(line, 'm')
    const found = (name: string) => findings.find(one => one.name === name)
    t.equal(found('https_urls')?.found, expected, message)
    if (expected !== 'yes') t.equal(found('https_urls')?.reason, `400 ${message}`)
    t.equal(found('given_url'), undefined, 'no address but those at which nothing is')
    t.equal(declarationOf(findings).traits.fetches_urls, expected === 'no' ? false : undefined, message)
  }
  t.equal(declarationOf(await runProbes(line, 'm', { url: given })).traits.fetches_urls, false, 'it refuses this, too')
  reachable = given
  const findings = await runProbes(line, 'm', { url: given })
  t.equal(findings.find(({ name }) => name === 'given_url')?.found, 'yes')
  t.equal(declarationOf(findings).traits.fetches_urls, undefined, 'nothing is known of http')
})

t.test('a server that takes any address shows nothing', async t => {
  const line = await lineTo(
    t,
    chatServer(() => saying('yes')),
  )
  const findings = await runProbes(line, 'm', { url: 'https://pictures.example/a.png' })
  t.equal(findings.find(({ name }) => name === 'https_urls')?.found, 'ignored')
  t.equal(declarationOf(findings).traits.fetches_urls, undefined)
})

t.test('a member that a server does not read is not one that it knows', async t => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ results: [] }))
    })
  })
  const line = await lineTo(t, server)
  const findings = await runProbes(line, 'm')
  const found = (name: string) => findings.find(one => one.name === name)?.found
  t.strictSame([found('rerank'), found('rerank_priority')], ['yes', 'ignored'])
  t.equal(declarationOf(findings).traits.rerank, undefined)
})

/** What servers say to everything, and why nothing is found then. */
const USELESS: Readonly<Record<string, readonly [status: number, type: string, body: string, reason: string]>> = {
  'no such path': [404, 'application/json', '{"error":{"message":"not here"}}', '404 not here'],
  moved: [301, 'text/html', '', '301 '],
  'a page of a login': [200, 'text/html', '<html>Sign in</html>', '200 without JSON: <html>Sign in</html>'],
  'too many requests': [429, 'application/json', '{"error":{"message":"slow down"}}', '429 slow down'],
  'an error': [500, 'text/plain', 'oh', '500 oh'],
}

for (const [name, [status, type, body, reason]] of Object.entries(USELESS)) {
  t.test(`an upstream that answers everything alike is not probed: ${name}`, async t => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status, { 'content-type': type }).end(body))
    })
    const line = await lineTo(t, server)
    await t.rejects(runProbes(line, 'm'), {
      message: `nothing was found: ${reason}: look at \`base\`, and at \`--model\``,
      exit: 1,
    })
  })
}

t.test('a page in place of an answer shows nothing', async t => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isChat = request.url === '/v1/chat/completions'
      response.writeHead(200, { 'content-type': isChat ? 'application/json' : 'text/html' })
      response.end(isChat ? JSON.stringify(saying('yes').body) : '<html>Sign in</html>')
    })
  })
  const findings = await runProbes(await lineTo(t, server), 'm')
  const found = (name: string) => findings.find(one => one.name === name)?.found
  t.strictSame(['system', 'messages', 'speech'].map(found), ['yes', 'unknown', 'unknown'])
  const declared = { traits: { sampling: false, audio: 'generate' as const }, speaks: { chat: {}, messages: {} } }
  t.strictSame(
    undecided(findings, declared).map(({ line }) => line.replace(/:[^:]*$/, '')),
    [
      'speaks.messages: declared, and not found out (messages): 200 without JSON',
      'traits.audio: declared, and not found out (speech, generated_sound): 200 without JSON',
    ],
  )
})

t.test('what is declared and does not show ends with 1', async t => {
  const server = chatServer((_, path) =>
    path === '/v1/chat/completions' ? saying('yes') : { status: 429, body: { error: { message: 'slow down' } } },
  )
  const port = await listening(t, server)
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
keys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }
upstreams:
  busy: { base: "http://127.0.0.1:${port}", speaks: { chat: POST /v1/chat/completions, messages: POST /v1/messages }, traits: { structured: tool } }
models: { m: busy }
`,
  })
  const { code, stdout } = await run(['probe', 'busy', '--model', 'm', '--compare', '--json'], { cwd })
  t.equal(code, 1)
  t.strictSame(JSON.parse(stdout).unknown, ['speaks.messages: declared, and not found out (messages): 429 slow down'])
})

t.test('what nothing decides is listed once, and not as different; what another probe has shown is not listed', t => {
  const compared = (found: Readonly<Record<string, string>>, traits: object) => {
    const findings = Object.entries(found).map(([name, value]) => ({ name, what: `${name} by https`, found: value }))
    const declared = { traits, speaks: { chat: {} } }
    return [
      ...driftOf(declarationOf(findings), findings, declared),
      ...undecided(findings, declared).map(({ line }) => line),
    ].map(line => line.replace(/: the answer.*/, ''))
  }
  const open = (trait: string, ...probes: readonly string[]) => [
    `traits.${trait}: declared, and not found out (${probes.join(', ')})`,
  ]
  const chat = { max_tokens: 'yes' }
  t.strictSame(compared({ ...chat, sampling: 'unknown' }, { sampling: false }), open('sampling', 'sampling'))
  t.strictSame(
    compared({ ...chat, structured: 'no', tools: 'unknown' }, { structured: 'tool' }),
    open('structured', 'tools'),
  )
  t.strictSame(compared({ ...chat, structured: 'off' }, { structured: 'tool' }), [], 'it was started without this')
  t.strictSame(compared({ ...chat, max_completion_tokens: 'unknown' }, { max_tokens_field: 'max_tokens' }), [])
  t.strictSame(compared({ ...chat, developer: 'yes', system: 'unknown' }, { system_role: 'developer' }), [])
  t.strictSame(compared({ ...chat, speech: 'unknown', generated_sound: 'yes' }, { audio: 'generate' }), [])
  t.strictSame(compared({ ...chat, rerank: 'no', rerank_priority: 'unknown' }, { rerank: ['priority'] }), [])
  const given = { ...chat, https_urls: 'unknown', given_url: 'yes' }
  t.strictSame(compared(given, { fetches_urls: 'https' }), [], 'the picture of --url has been fetched')
  t.end()
})

t.test('a trait of some models that does not show is listed, and --compare ends with 0', async t => {
  const server = chatServer((_, path) =>
    path === '/v1/chat/completions' ? saying('yes') : { status: 500, body: { error: { message: 'try later' } } },
  )
  const port = await listening(t, server)
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
keys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }
upstreams:
  own: { base: "http://127.0.0.1:${port}", speaks: { chat: POST /v1/chat/completions }, traits: { audio: generate, max_tokens_field: max_completion_tokens } }
models: { m: own }
`,
  })
  const { code, stdout } = await run(['probe', 'own', '--model', 'm', '--compare', '--json'], { cwd })
  t.strictSame(JSON.parse(stdout), {
    drift: [],
    unknown: ['traits.audio: declared, and not found out (speech, generated_sound): 500 try later'],
  })
  t.equal(code, 0)
})

t.test('the bound of the cost is in USD, also where the file counts nothing', async t => {
  const cwd = t.testdir({
    'gateway.yaml':
      'version: 1\nkeys: { team: { secret: { env: TEAM_KEY }, models: ["*"] } }\nupstreams: { one: { kind: openai-compatible, base: "https://one.example" } }\nmodels: { gpt-4o: one }\n',
  })
  const dry = async (...more: string[]) => {
    const asked = ['probe', 'one', '--model', 'gpt-4o', '--dry-run', ...more]
    const { stdout } = await run(asked, { cwd, env: { TEAM_KEY: 'x'.repeat(40) } })
    const [, input = '', output = '', cost] =
      /at most (\d+) tokens in and (\d+) out.*; at most (\S+) USD/.exec(stdout) ?? []
    return { input: Number(input), output: Number(output), cost }
  }
  // 2.50 and 10.00 USD for a million tokens.
  const texts = await dry()
  t.equal(texts.cost, ((texts.input * 2.5 + texts.output * 10) / 1e6).toFixed(4))
  const pictures = await dry('--pictures')
  t.equal(pictures.cost, ((pictures.input * 2.5 + (pictures.output + 30_000) * 10) / 1e6).toFixed(4))
  const { stdout } = await run(['models', '--json'], { cwd, env: { TEAM_KEY: 'x'.repeat(40) } })
  t.match(JSON.parse(stdout)[0].upstreams[0].price, /^input 2\.50/)
})

t.test('probe prints what to paste, and tells what is declared otherwise', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG })
  const asked = ['probe', 'fixed', '--model', 'sim-text']
  const { code, stdout } = await run(asked, { cwd, env: { TEAM_KEY: 'x'.repeat(40) } })
  t.equal(code, 0)
  sameAsGolden(t, 'probe', stdout)
  t.match(stdout, /^# sampling +no: 400 This server has no support for 'sampling'\.$/m)
  t.match(stdout, '    kind: simulator\n    traits: {"sampling":false,"image_inputs":"parts",')
  const drift = await run([...asked, '--compare'], { cwd })
  t.strictSame(
    [drift.code, drift.stdout],
    [
      1,
      'traits.sampling: declared nothing, found false\ntraits.image_inputs: declared nothing, found "parts"\n' +
        'traits.embedding_tasks: declared nothing, found {"field":"input_type","words":{"RETRIEVAL_QUERY":"query","RETRIEVAL_DOCUMENT":"document"}}\n',
    ],
  )
  const tasks = 'embedding_tasks: { field: task, words: { CLASSIFICATION: classification } }'
  writeFileSync(
    join(cwd, 'gateway.yaml'),
    CONFIG.replace(
      'lacks=sampling" }',
      `lacks=sampling" }, traits: { sampling: false, image_inputs: parts, ${tasks} }`,
    ),
  )
  t.equal((await run([...asked, '--compare'], { cwd })).code, 0)
  const dry = await run([...asked, '--dry-run'], { cwd })
  t.match(dry.stdout, /\d+ requests, at most \d+ tokens in and \d+ out; at most 0\.0000 USD/)
  t.notMatch(dry.stdout, /makes_images|3 pictures/)
  const costly = await run([...asked, '--dry-run', '--pictures', '--url', 'https://a.example/b.png'], { cwd })
  t.match(costly.stdout, /\d+ requests, at most \d+ tokens in and \d+ out, and 3 pictures;/)
  t.match(costly.stdout, /^makes_images_chat: /m)
  t.match(costly.stdout, /^given_url: /m)
  const bad = await run([...asked, '--url', 'file:///etc/passwd'], { cwd })
  t.strictSame([bad.code, /expected an address of http or https/.test(bad.stderr)], [2, true])
  t.equal((await run(['probe', 'none', '--model', 'm'], { cwd })).code, 2)
})
