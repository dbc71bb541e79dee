/** A turn of the conversation that all protocols are given. */
export interface Conversation {
  readonly model: string
  readonly system: string
  readonly text: string
  readonly isStream: boolean
  readonly maxTokens: number
}

export interface Protocol {
  readonly name: string
  path(conversation: Conversation): string
  body(conversation: Conversation): object
  /** The text that a document adds: an event of a stream, or the whole answer. */
  text(document: Documented): string
  /** As a program would do it. The key is in `GATEWAY_KEY`. */
  code(conversation: Conversation, base: string): Readonly<Record<string, string>>
}

/** An answer, of which only what is read here is known. */
export interface Documented {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly message?: { readonly content?: string | null }
  }[]
  readonly type?: string
  readonly delta?: string | { readonly text?: string }
  readonly output?: readonly { readonly content?: readonly { readonly text?: string }[] }[]
  readonly content?: readonly { readonly text?: string }[]
  readonly candidates?: readonly { readonly content?: { readonly parts?: readonly { readonly text?: string }[] } }[]
}

const joined = (parts: readonly (string | null | undefined)[] | undefined): string =>
  (parts ?? []).map(part => part ?? '').join('')

function curl(base: string, path: string, body: object): string {
  return `curl ${base}${path} \\\n  -H "authorization: Bearer $GATEWAY_KEY" \\\n  -H "content-type: application/json" \\\n  -d '${JSON.stringify(body, undefined, 2).replaceAll("'", "'\\''")}'`
}

const quote = (text: string): string => JSON.stringify(text)

const chat: Protocol = {
  name: 'chat',
  path: () => '/v1/chat/completions',
  body: ({ model, system, text, isStream, maxTokens }) => ({
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), { role: 'user', content: text }],
    max_tokens: maxTokens,
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  text: ({ choices }) => joined(choices?.map(({ delta, message }) => delta?.content ?? message?.content)),
  code: (conversation, base) => ({
    curl: curl(base, chat.path(conversation), chat.body(conversation)),
    'openai (Python)': `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url=${quote(`${base}/v1`)}, api_key=os.environ["GATEWAY_KEY"])\nanswer = client.chat.completions.create(\n    model=${quote(conversation.model)},\n    messages=[{"role": "user", "content": ${quote(conversation.text)}}],\n)\nprint(answer.choices[0].message.content)`,
    'openai (Node)': `import OpenAI from 'openai'\n\nconst client = new OpenAI({ baseURL: ${quote(`${base}/v1`)}, apiKey: process.env.GATEWAY_KEY })\nconst answer = await client.chat.completions.create({\n  model: ${quote(conversation.model)},\n  messages: [{ role: 'user', content: ${quote(conversation.text)} }],\n})\nconsole.log(answer.choices[0].message.content)`,
  }),
}

const responses: Protocol = {
  name: 'responses',
  path: () => '/v1/responses',
  body: ({ model, system, text, isStream, maxTokens }) => ({
    model,
    ...(system === '' ? {} : { instructions: system }),
    input: text,
    max_output_tokens: maxTokens,
    store: false,
    ...(isStream ? { stream: true } : {}),
  }),
  text: ({ type, delta, output }) =>
    type === 'response.output_text.delta' && typeof delta === 'string'
      ? delta
      : type === undefined || type === 'response'
        ? joined(output?.flatMap(({ content }) => content?.map(part => part.text)))
        : '',
  code: (conversation, base) => ({
    curl: curl(base, responses.path(conversation), responses.body(conversation)),
    'openai (Node)': `import OpenAI from 'openai'\n\nconst client = new OpenAI({ baseURL: ${quote(`${base}/v1`)}, apiKey: process.env.GATEWAY_KEY })\nconst answer = await client.responses.create({ model: ${quote(conversation.model)}, input: ${quote(conversation.text)} })\nconsole.log(answer.output_text)`,
  }),
}

const messages: Protocol = {
  name: 'messages',
  path: () => '/v1/messages',
  body: ({ model, system, text, isStream, maxTokens }) => ({
    model,
    ...(system === '' ? {} : { system }),
    messages: [{ role: 'user', content: text }],
    max_tokens: maxTokens,
    ...(isStream ? { stream: true } : {}),
  }),
  text: ({ type, delta, content }) =>
    type === 'content_block_delta' && typeof delta === 'object'
      ? (delta.text ?? '')
      : type === 'message'
        ? joined(content?.map(part => part.text))
        : '',
  code: (conversation, base) => ({
    curl: curl(base, messages.path(conversation), messages.body(conversation)),
    'anthropic (Python)': `import os\nfrom anthropic import Anthropic\n\nclient = Anthropic(base_url=${quote(base)}, api_key=os.environ["GATEWAY_KEY"])\nanswer = client.messages.create(\n    model=${quote(conversation.model)},\n    max_tokens=${conversation.maxTokens},\n    messages=[{"role": "user", "content": ${quote(conversation.text)}}],\n)\nprint(answer.content[0].text)`,
  }),
}

const generate: Protocol = {
  name: 'generate',
  path: ({ model, isStream }) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: ({ system, text, maxTokens }) => ({
    ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: [{ role: 'user', parts: [{ text }] }],
    generationConfig: { maxOutputTokens: maxTokens },
  }),
  text: ({ candidates }) => joined(candidates?.flatMap(({ content }) => content?.parts?.map(part => part.text))),
  code: (conversation, base) => ({
    curl: curl(base, generate.path(conversation), generate.body(conversation)),
    'genai (Node)': `import { GoogleGenAI } from '@google/genai'\n\nconst client = new GoogleGenAI({ apiKey: process.env.GATEWAY_KEY, httpOptions: { baseUrl: ${quote(base)} } })\nconst answer = await client.models.generateContent({ model: ${quote(conversation.model)}, contents: ${quote(conversation.text)} })\nconsole.log(answer.text)`,
  }),
}

export const PROTOCOLS: readonly Protocol[] = [chat, responses, messages, generate]
