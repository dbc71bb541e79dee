import t from 'tap'
import { post, simulator } from './support.js'

const CHAT = { model: 'sim', messages: [{ role: 'user', content: 'Hello' }] }
const RESPONSE = { model: 'sim', input: 'Hello' }
const MESSAGE = { ...CHAT, max_tokens: 100 }
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
const IMAGE = 'https://example.com/a.png'

/** Members that take one of some words, with the place that a refusal names. */
const CHOICES: readonly (readonly [path: string, member: string, body: object])[] = [
  ['/v1/chat/completions', 'reasoning_effort', { ...CHAT, reasoning_effort: 'bogus' }],
  ['/v1/chat/completions', 'verbosity', { ...CHAT, verbosity: 'bogus' }],
  ['/v1/chat/completions', 'service_tier', { ...CHAT, service_tier: 'bogus' }],
  ['/v1/chat/completions', 'modalities[1]', { ...CHAT, modalities: ['text', 'bogus'] }],
  ['/v1/chat/completions', 'prompt_cache_retention', { ...CHAT, prompt_cache_retention: 'bogus' }],
  ['/v1/chat/completions', 'tool_choice', { ...CHAT, tool_choice: 'bogus' }],
  ['/v1/chat/completions', 'response_format.type', { ...CHAT, response_format: { type: 'bogus' } }],
  [
    '/v1/chat/completions',
    'web_search_options.search_context_size',
    { ...CHAT, web_search_options: { search_context_size: 'bogus' } },
  ],
  [
    '/v1/chat/completions',
    'messages[0].content[0].image_url.detail',
    {
      ...CHAT,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE, detail: 'bogus' } }] }],
    },
  ],
  ['/v1/responses', 'reasoning.effort', { ...RESPONSE, reasoning: { effort: 'bogus' } }],
  ['/v1/responses', 'reasoning.summary', { ...RESPONSE, reasoning: { summary: 'bogus' } }],
  ['/v1/responses', 'text.verbosity', { ...RESPONSE, text: { verbosity: 'bogus' } }],
  ['/v1/responses', 'truncation', { ...RESPONSE, truncation: 'bogus' }],
  ['/v1/responses', 'service_tier', { ...RESPONSE, service_tier: 'bogus' }],
  ['/v1/responses', 'include[0]', { ...RESPONSE, include: ['bogus'] }],
  [
    '/v1/responses',
    'input[0].content[0].detail',
    { ...RESPONSE, input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE, detail: 'bogus' }] }] },
  ],
  ['/v1/messages', 'service_tier', { ...MESSAGE, service_tier: 'bogus' }],
  ['/v1/messages', 'thinking.type', { ...MESSAGE, thinking: { type: 'bogus' } }],
  ['/v1/messages', 'output_config.effort', { ...MESSAGE, output_config: { effort: 'bogus' } }],
  ['/v1/embeddings', 'encoding_format', { model: 'sim', input: 'a', encoding_format: 'bogus' }],
  ['generate', 'generation_config.media_resolution', { ...CONTENTS, generationConfig: { mediaResolution: 'bogus' } }],
  [
    'generate',
    'generationConfig.thinkingConfig.thinkingLevel',
    { ...CONTENTS, generationConfig: { thinkingConfig: { thinkingLevel: 'bogus' } } },
  ],
  [
    'generate',
    'safety_settings[0].threshold',
    { ...CONTENTS, safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'bogus' }] },
  ],
  ['generate', 'service_tier', { ...CONTENTS, serviceTier: 'bogus' }],
  [
    'generate',
    'toolConfig.functionCallingConfig.mode',
    { ...CONTENTS, toolConfig: { functionCallingConfig: { mode: 'bogus' } } },
  ],
  [
    'generate',
    'tools[0].function_declarations[0].parameters.type',
    { ...CONTENTS, tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'bogus' } }] }] },
  ],
]

function pathOf(path: string): string {
  return path === 'generate' ? '/v1beta/models/sim:generateContent' : path
}

for (const [path, member, body] of CHOICES) {
  t.test(`${path} refuses a word that ${member} does not take`, async t => {
    const upstream = await simulator(t)
    const refused = await post(upstream, pathOf(path), body)
    t.equal(refused.status, 400, refused.text)
    const { error } = JSON.parse(refused.text)
    t.match(error.param ?? error.message, member)
    if (path.startsWith('/v1/') && path !== '/v1/messages') t.match(error, { param: member, code: 'invalid_value' })
  })
}

t.test('native choices are also taken in small letters and by their numbers', async t => {
  const upstream = await simulator(t)
  for (const mediaResolution of ['MEDIA_RESOLUTION_LOW', 'media_resolution_low', 1]) {
    const body = { ...CONTENTS, generationConfig: { mediaResolution } }
    t.equal((await post(upstream, pathOf('generate'), body)).status, 200)
  }
  const parameters = { type: 6, properties: { city: { type: 1 } }, required: ['city'] }
  const tools = [{ functionDeclarations: [{ name: 'f', parameters }] }]
  const asked = { ...CONTENTS, tools, toolConfig: { functionCallingConfig: { mode: 'ANY' } } }
  const { candidates } = JSON.parse((await post(upstream, pathOf('generate'), asked)).text)
  t.match(candidates[0].content.parts[0].functionCall, { name: 'f', args: { city: String } })
})

const TAKEN: readonly (readonly [path: string, member: string, values: readonly (string | null)[]])[] = [
  ['/v1/chat/completions', 'reasoning_effort', [null, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']],
  ['/v1/chat/completions', 'verbosity', [null, 'low', 'medium', 'high']],
  ['/v1/chat/completions', 'service_tier', [null, 'auto', 'default', 'flex', 'priority']],
  ['/v1/responses', 'truncation', [null, 'auto', 'disabled']],
  ['/v1/responses', 'service_tier', [null, 'auto', 'default', 'flex', 'priority']],
]

for (const [path, member, values] of TAKEN) {
  t.test(`${path} takes every word that there is for ${member}, and null`, async t => {
    const upstream = await simulator(t)
    const body = path === '/v1/responses' ? RESPONSE : CHAT
    for (const value of values) t.equal((await post(upstream, path, { ...body, [member]: value })).status, 200)
  })
}
