import { CLIENTS, curl, keywords, literal } from './code.js'
import { type Conversation, dataUrl, formatOf, type Piece, THINKING_TOKENS } from './conversation.js'

export interface Protocol {
  readonly name: string
  path(conversation: Conversation): string
  body(conversation: Conversation): object
  /** What of the conversation cannot be said in it. */
  unsaid(conversation: Conversation): readonly string[]
  read(document: Documented): Piece
  /** As a program would do it. */
  code(conversation: Conversation, base: string): Readonly<Record<string, string>>
}

interface Part {
  readonly type?: string
  readonly text?: string
  readonly thinking?: string
  readonly name?: string
  readonly input?: unknown
  readonly thought?: boolean
  readonly functionCall?: { readonly name?: string; readonly args?: unknown }
}

interface Said {
  readonly content?: string | null
  readonly reasoning_content?: string | null
  readonly reasoning?: string | null
  readonly tool_calls?: readonly { readonly function?: { readonly name?: string; readonly arguments?: string } }[]
  readonly audio?: { readonly data?: string; readonly transcript?: string }
}

interface Item {
  readonly type?: string
  readonly name?: string
  readonly arguments?: string
  readonly content?: readonly Part[]
  readonly summary?: readonly Part[]
}

/** An answer, of which only what is read here is known. */
export interface Documented {
  readonly choices?: readonly { readonly delta?: Said; readonly message?: Said }[]
  readonly type?: string
  readonly delta?:
    | string
    | { readonly type?: string; readonly text?: string; readonly thinking?: string; readonly partial_json?: string }
  readonly item?: Item
  readonly output?: readonly Item[]
  readonly content?: readonly Part[]
  readonly content_block?: Part
  readonly candidates?: readonly { readonly content?: { readonly parts?: readonly Part[] } }[]
}

const joined = (parts: readonly (string | null | undefined)[] | undefined): string =>
  (parts ?? []).map(part => part ?? '').join('')

const called = (name: string | undefined, given: unknown): string =>
  `${name ?? ''}(${typeof given === 'string' ? given : JSON.stringify(given ?? {})})`

/** The same without streaming: programs print an answer that is whole. */
const whole = (conversation: Conversation): Conversation => ({ ...conversation, isStream: false })

const chat: Protocol = {
  name: 'chat',
  path: () => '/v1/chat/completions',
  unsaid: () => [],
  body: ({ model, system, text, isStream, maxTokens, files, tools, schema, effort, isSpoken }) => ({
    model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      {
        role: 'user',
        content:
          files.length === 0
            ? text
            : [
                { type: 'text', text },
                ...files.map(file =>
                  file.kind === 'image'
                    ? { type: 'image_url', image_url: { url: dataUrl(file) } }
                    : file.kind === 'audio'
                      ? { type: 'input_audio', input_audio: { data: file.data, format: formatOf(file) } }
                      : { type: 'file', file: { filename: file.name, file_data: dataUrl(file) } },
                ),
              ],
      },
    ],
    ...(effort === undefined
      ? { max_tokens: maxTokens }
      : { max_completion_tokens: maxTokens, reasoning_effort: effort }),
    ...(tools.length === 0 ? {} : { tools: tools.map(tool => ({ type: 'function', function: tool })) }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } }),
    ...(isSpoken ? { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } } : {}),
    ...(isStream && !isSpoken ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  read({ choices = [] }) {
    const all = choices.map(({ delta, message }) => delta ?? message ?? {})
    return {
      text: joined(all.map(one => one.content ?? one.audio?.transcript)),
      thought: joined(all.map(one => one.reasoning_content ?? one.reasoning)),
      call: joined(
        all
          .flatMap(one => one.tool_calls ?? [])
          .map(({ function: made }) => `${made?.name ?? ''}${made?.arguments ?? ''}`),
      ),
      sound: joined(all.map(one => one.audio?.data)),
    }
  },
  code(conversation, base) {
    const body = chat.body(whole(conversation))
    return {
      curl: curl(base, chat.path(conversation), chat.body(conversation)),
      'openai (Python)': `${CLIENTS.openaiPython(base)}answer = client.chat.completions.create(\n${keywords(body)})\nprint(answer.choices[0].message)`,
      'openai (Node)': `${CLIENTS.openaiNode(base)}const answer = await client.chat.completions.create(${literal(body, 'js')})\nconsole.log(answer.choices[0].message)`,
    }
  },
}

const responses: Protocol = {
  name: 'responses',
  path: () => '/v1/responses',
  unsaid: ({ isSpoken, files }) => [
    ...(isSpoken ? ['spoken answers'] : []),
    ...(files.some(({ kind }) => kind === 'audio') ? ['audio'] : []),
  ],
  body: ({ model, system, text, isStream, maxTokens, files, tools, schema, effort }) => ({
    model,
    ...(system === '' ? {} : { instructions: system }),
    input:
      files.length === 0
        ? text
        : [
            {
              role: 'user',
              content: [
                { type: 'input_text', text },
                ...files.flatMap<object>(file =>
                  file.kind === 'image'
                    ? [{ type: 'input_image', image_url: dataUrl(file) }]
                    : file.kind === 'file'
                      ? [{ type: 'input_file', filename: file.name, file_data: dataUrl(file) }]
                      : [],
                ),
              ],
            },
          ],
    max_output_tokens: maxTokens,
    ...(tools.length === 0 ? {} : { tools: tools.map(tool => ({ type: 'function', strict: false, ...tool })) }),
    ...(schema === undefined
      ? {}
      : { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } }),
    ...(effort === undefined ? {} : { reasoning: { effort, summary: 'auto' } }),
    store: false,
    ...(isStream ? { stream: true } : {}),
  }),
  read({ type, delta, item, output }) {
    if (type === 'response.output_text.delta' && typeof delta === 'string') return { text: delta }
    if (type === 'response.reasoning_summary_text.delta' && typeof delta === 'string') return { thought: delta }
    if (type === 'response.output_item.done' && item?.type === 'function_call')
      return { call: called(item.name, item.arguments) }
    if (type !== undefined && type !== 'response') return {}
    return {
      text: joined(output?.flatMap(({ content }) => content?.map(part => part.text))),
      thought: joined(output?.flatMap(({ summary }) => summary?.map(part => part.text))),
      call: joined(output?.map(one => (one.type === 'function_call' ? called(one.name, one.arguments) : ''))),
    }
  },
  code(conversation, base) {
    const body = responses.body(whole(conversation))
    return {
      curl: curl(base, responses.path(conversation), responses.body(conversation)),
      'openai (Python)': `${CLIENTS.openaiPython(base)}answer = client.responses.create(\n${keywords(body)})\nprint(answer.output_text)`,
      'openai (Node)': `${CLIENTS.openaiNode(base)}const answer = await client.responses.create(${literal(body, 'js')})\nconsole.log(answer.output_text)`,
    }
  },
}

const messages: Protocol = {
  name: 'messages',
  path: () => '/v1/messages',
  unsaid: responses.unsaid,
  body: ({ model, system, text, isStream, maxTokens, files, tools, schema, effort }) => ({
    model,
    max_tokens: maxTokens + (effort === undefined ? 0 : THINKING_TOKENS[effort]),
    ...(system === '' ? {} : { system }),
    messages: [
      {
        role: 'user',
        content:
          files.length === 0
            ? text
            : [
                ...files.flatMap<object>(({ kind, type, data }) =>
                  kind === 'audio'
                    ? []
                    : [
                        {
                          type: kind === 'image' ? 'image' : 'document',
                          source: { type: 'base64', media_type: type, data },
                        },
                      ],
                ),
                { type: 'text', text },
              ],
      },
    ],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ parameters = { type: 'object' }, ...tool }) => ({ ...tool, input_schema: parameters })),
        }),
    ...(schema === undefined ? {} : { output_config: { format: { type: 'json_schema', schema } } }),
    ...(effort === undefined ? {} : { thinking: { type: 'enabled', budget_tokens: THINKING_TOKENS[effort] } }),
    ...(isStream ? { stream: true } : {}),
  }),
  read({ type, delta, content_block, content }) {
    if (type === 'content_block_start' && content_block?.type === 'tool_use') return { call: content_block.name ?? '' }
    if (type === 'content_block_delta' && typeof delta === 'object')
      return { text: delta.text ?? '', thought: delta.thinking ?? '', call: delta.partial_json ?? '' }
    if (type !== 'message') return {}
    return {
      text: joined(content?.map(part => part.text)),
      thought: joined(content?.map(part => part.thinking)),
      call: joined(content?.map(part => (part.type === 'tool_use' ? called(part.name, part.input) : ''))),
    }
  },
  code(conversation, base) {
    const body = messages.body(whole(conversation))
    return {
      curl: curl(base, messages.path(conversation), messages.body(conversation)),
      'anthropic (Python)': `${CLIENTS.anthropicPython(base)}answer = client.messages.create(\n${keywords(body)})\nprint(answer.content)`,
      'anthropic (Node)': `${CLIENTS.anthropicNode(base)}const answer = await client.messages.create(${literal(body, 'js')})\nconsole.log(answer.content)`,
    }
  },
}

/** `generateContent` by its libraries: settings, tools and instructions are one object there. */
function genaiCall(conversation: Conversation): object {
  const { contents, generationConfig, ...config } = generate.body(conversation) as {
    readonly contents: readonly object[]
    readonly generationConfig: object
  }
  return { model: conversation.model, contents, config: { ...generationConfig, ...config } }
}

const generate: Protocol = {
  name: 'generate',
  path: ({ model, isStream }) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  unsaid: ({ isSpoken }) => (isSpoken ? ['spoken answers'] : []),
  body: ({ system, text, maxTokens, files, tools, schema, effort }) => ({
    ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: [
      {
        role: 'user',
        parts: [...files.map(({ type, data }) => ({ inlineData: { mimeType: type, data } })), { text }],
      },
    ],
    ...(tools.length === 0
      ? {}
      : {
          tools: [
            {
              functionDeclarations: tools.map(({ parameters, ...tool }) => ({
                ...tool,
                ...(parameters === undefined ? {} : { parametersJsonSchema: parameters }),
              })),
            },
          ],
        }),
    generationConfig: {
      maxOutputTokens: maxTokens,
      ...(schema === undefined ? {} : { responseMimeType: 'application/json', responseJsonSchema: schema }),
      ...(effort === undefined
        ? {}
        : { thinkingConfig: { includeThoughts: true, thinkingBudget: THINKING_TOKENS[effort] } }),
    },
  }),
  read({ candidates }) {
    const parts = candidates?.flatMap(({ content }) => content?.parts ?? [])
    return {
      text: joined(parts?.map(part => (part.thought === true ? '' : part.text))),
      thought: joined(parts?.map(part => (part.thought === true ? part.text : ''))),
      call: joined(parts?.map(({ functionCall: made }) => (made === undefined ? '' : called(made.name, made.args)))),
    }
  },
  code(conversation, base) {
    const asked = genaiCall(conversation)
    return {
      curl: curl(base, generate.path(conversation), generate.body(conversation)),
      'genai (Python)': `${CLIENTS.genaiPython(base)}answer = client.models.generate_content(\n${keywords(asked)})\nprint(answer.text)`,
      'genai (Node)': `${CLIENTS.genaiNode(base)}const answer = await client.models.generateContent(${literal(asked, 'js')})\nconsole.log(answer.text)`,
    }
  },
}

/** A block of an answer, or what an event adds to one. */
interface Block {
  readonly text?: string
  readonly reasoningContent?: { readonly text?: string; readonly reasoningText?: { readonly text?: string } }
  readonly toolUse?: { readonly name?: string; readonly input?: unknown }
}

/** What documents of `converse` have, where others have members of the same names. */
interface Conversed {
  readonly start?: Block
  readonly delta?: Block
  readonly output?: { readonly message?: { readonly content?: readonly Block[] } }
}

/** Names of documents have few characters there. */
const titleOf = (name: string): string => name.replace(/\.\w+$/, '').replace(/[^A-Za-z0-9 ()[\]-]/g, '-')

const converse: Protocol = {
  name: 'converse',
  path: ({ model, isStream }) => `/model/${encodeURIComponent(model)}/converse${isStream ? '-stream' : ''}`,
  unsaid: responses.unsaid,
  body: ({ system, text, maxTokens, files, tools, schema, effort }) => ({
    ...(system === '' ? {} : { system: [{ text: system }] }),
    messages: [
      {
        role: 'user',
        content: [
          ...files.flatMap<object>(({ kind, type, name, data }) =>
            kind === 'image'
              ? [{ image: { format: type.replace('image/', ''), source: { bytes: data } } }]
              : kind === 'file'
                ? [{ document: { format: name.replace(/^.*\./, ''), name: titleOf(name), source: { bytes: data } } }]
                : [],
          ),
          { text },
        ],
      },
    ],
    inferenceConfig: { maxTokens: maxTokens + (effort === undefined ? 0 : THINKING_TOKENS[effort]) },
    ...(tools.length === 0
      ? {}
      : {
          toolConfig: {
            tools: tools.map(({ parameters = { type: 'object' }, ...tool }) => ({
              toolSpec: { ...tool, inputSchema: { json: parameters } },
            })),
          },
        }),
    ...(schema === undefined
      ? {}
      : {
          outputConfig: {
            textFormat: {
              type: 'json_schema',
              structure: { jsonSchema: { name: 'answer', schema: JSON.stringify(schema) } },
            },
          },
        }),
    ...(effort === undefined
      ? {}
      : {
          additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: THINKING_TOKENS[effort] } },
        }),
  }),
  read(document) {
    const { start, delta, output } = document as Conversed
    if (start !== undefined) return { call: start.toolUse?.name ?? '' }
    if (delta !== undefined)
      return {
        text: delta.text ?? '',
        thought: delta.reasoningContent?.text ?? '',
        call: String(delta.toolUse?.input ?? ''),
      }
    const content = output?.message?.content
    return {
      text: joined(content?.map(part => part.text)),
      thought: joined(content?.map(part => part.reasoningContent?.reasoningText?.text)),
      call: joined(content?.map(({ toolUse }) => (toolUse === undefined ? '' : called(toolUse.name, toolUse.input)))),
    }
  },
  code(conversation, base) {
    const { model } = conversation
    const body = { modelId: model, ...converse.body(conversation) }
    return {
      // A stream has binary frames, which a terminal cannot show.
      curl: curl(base, converse.path(whole(conversation)), converse.body(conversation)),
      'boto3 (Python)': `${CLIENTS.boto3(base)}answer = client.converse(\n${keywords(body)})\nprint(answer["output"])`,
      'aws-sdk (Node)': `${CLIENTS.awsNode(base)}const answer = await client.send(new ConverseCommand(${literal(body, 'js')}))\nconsole.log(answer.output.message.content)`,
    }
  },
}

export const PROTOCOLS: readonly Protocol[] = [chat, responses, messages, generate, converse]
