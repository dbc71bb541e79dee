import { createServer } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI, type Part } from '@google/genai'
import OpenAI from 'openai'
import type { Test } from 'tap'
import type { Json } from '../../src/core/json.js'
import type { EndReason } from '../../src/core/text.js'
import { listening } from '../helpers/listening.js'
import type { TextProtocol } from '../helpers/text-recordings.js'

/** What an official SDK makes of an answer. */
export interface SdkView {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly name: string; readonly arguments: Json }[]
  readonly reason: string
  readonly input: number | undefined
  readonly output: number | undefined
}

/** How the reasons that all protocols have are called in each. */
export const REASONS: Readonly<Record<TextProtocol, Partial<Record<EndReason, readonly string[]>>>> = {
  chat: { stop: ['stop'], length: ['length'], tool: ['tool_calls'] },
  responses: { stop: ['completed'], length: ['incomplete'], tool: ['completed'] },
  messages: { stop: ['end_turn', 'stop_sequence'], length: ['max_tokens'], tool: ['tool_use'] },
  generate: { stop: ['STOP'], length: ['MAX_TOKENS'], tool: ['STOP'] },
}

export interface SdkReader {
  /** The whole answer with these bytes. */
  whole(protocol: TextProtocol, bytes: string): Promise<SdkView>
  /** The stream with these bytes, added up as the SDK adds it up. */
  stream(protocol: TextProtocol, bytes: string): Promise<SdkView>
}

/** The official SDKs of all families, against a server that answers with the bytes at hand. */
export async function startSdkReader(t: Test): Promise<SdkReader> {
  let body = ''
  let type = ''
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': type }).end(body))
  })
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'key', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: origin, apiKey: 'key', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: origin } })

  const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'a' }] }
  const responses = { model: 'm', input: 'a' }
  const messages = { ...chat, max_tokens: 100 }
  const generate = { model: 'm', contents: 'a' }

  return {
    async whole(protocol, bytes) {
      body = bytes
      type = 'application/json'
      switch (protocol) {
        case 'chat':
          return ofChat(await openai.chat.completions.create(chat))
        case 'responses':
          return ofResponse(await openai.responses.create(responses))
        case 'messages':
          return ofMessage(await anthropic.messages.create(messages))
        case 'generate':
          return ofGenerate([await google.models.generateContent(generate)])
      }
    },
    async stream(protocol, bytes) {
      body = bytes
      type = 'text/event-stream'
      switch (protocol) {
        case 'chat': {
          const options = { stream_options: { include_usage: true } }
          const stream = openai.chat.completions.stream({ ...chat, ...options })
          // That SDK adds up what it knows alone.
          let reasoning = ''
          stream.on('chunk', ({ choices: [choice] }) => {
            const delta = choice?.index === 0 ? (choice.delta as { reasoning_content?: string }) : {}
            reasoning += delta.reasoning_content ?? ''
          })
          return { ...ofChat(await stream.finalChatCompletion()), reasoning }
        }
        case 'responses':
          return ofResponse(await openai.responses.stream(responses).finalResponse())
        case 'messages':
          return ofMessage(await anthropic.messages.stream(messages).finalMessage())
        case 'generate': {
          const chunks: GenerateContentResponse[] = []
          for await (const chunk of await google.models.generateContentStream(generate)) chunks.push(chunk)
          return ofGenerate(chunks)
        }
      }
    },
  }
}

function ofChat({ choices, usage }: OpenAI.ChatCompletion): SdkView {
  const choice = choices[0]
  const message = choice?.message as (OpenAI.ChatCompletionMessage & { reasoning_content?: string }) | undefined
  return {
    text: message?.content ?? '',
    reasoning: message?.reasoning_content ?? '',
    calls: (message?.tool_calls ?? []).map(call =>
      call.type === 'function'
        ? { name: call.function.name, arguments: parsed(call.function.arguments) }
        : { name: call.custom.name, arguments: call.custom.input },
    ),
    reason: choice?.finish_reason ?? '',
    input: usage?.prompt_tokens,
    output: usage?.completion_tokens,
  }
}

function ofResponse({ output, output_text, status, usage }: OpenAI.Responses.Response): SdkView {
  return {
    text: output_text,
    reasoning: output
      .flatMap(item => (item.type === 'reasoning' ? [...(item.content ?? []), ...item.summary] : []))
      .map(({ text }) => text)
      .join(''),
    calls: output.flatMap(item => {
      if (item.type === 'function_call') return [{ name: item.name, arguments: parsed(item.arguments) }]
      return item.type === 'custom_tool_call' ? [{ name: item.name, arguments: item.input }] : []
    }),
    reason: status ?? '',
    input: usage?.input_tokens,
    output: usage?.output_tokens,
  }
}

function ofMessage({ content, stop_reason, usage }: Anthropic.Message): SdkView {
  return {
    text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
    reasoning: content.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap(block =>
      block.type === 'tool_use' ? [{ name: block.name, arguments: block.input as Json }] : [],
    ),
    reason: stop_reason ?? '',
    input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
  }
}

/** That SDK adds nothing up: the parts of all chunks, the last reason and the last usage. */
function ofGenerate(chunks: readonly GenerateContentResponse[]): SdkView {
  const candidates = chunks.flatMap(chunk => chunk.candidates?.filter(({ index }) => (index ?? 0) === 0) ?? [])
  const parts: readonly Part[] = candidates.flatMap(({ content }) => content?.parts ?? [])
  const usage = chunks.findLast(chunk => chunk.usageMetadata !== undefined)?.usageMetadata
  return {
    text: parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join(''),
    reasoning: parts.map(part => (part.thought === true ? (part.text ?? '') : '')).join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ name: functionCall.name ?? '', arguments: (functionCall.args ?? {}) as Json }],
    ),
    reason: candidates.findLast(({ finishReason }) => finishReason !== undefined)?.finishReason ?? '',
    input: usage && (usage.promptTokenCount ?? 0) + (usage.toolUsePromptTokenCount ?? 0),
    output: usage && (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text === '' ? '{}' : text) as Json
  } catch {
    return text
  }
}
