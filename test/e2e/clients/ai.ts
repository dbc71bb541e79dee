import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import {
  dynamicTool,
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  stepCountIs,
  streamText,
} from 'ai'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

export const aiChat: Client = ask =>
  run(ask, createOpenAI({ apiKey: ask.key, baseURL: `${ask.origin}/v1` }).chat(ask.model))

export const aiResponses: Client = ask =>
  run(ask, createOpenAI({ apiKey: ask.key, baseURL: `${ask.origin}/v1` }).responses(ask.model))

export const aiMessages: Client = ask =>
  run(ask, createAnthropic({ apiKey: ask.key, baseURL: `${ask.origin}/v1` })(ask.model))

export const aiGenerate: Client = ask =>
  run(ask, createGoogleGenerativeAI({ apiKey: ask.key, baseURL: `${ask.origin}/v1beta` })(ask.model))

const BUDGETS = { low: 1024, medium: 2048, high: 4096 } as const

async function run(ask: Ask, model: LanguageModel): Promise<readonly Told[]> {
  const settings = {
    model,
    maxRetries: 0,
    messages: messagesOf(ask),
    ...(ask.system !== undefined && { system: ask.system }),
    ...(ask.maxTokens !== undefined && { maxOutputTokens: ask.maxTokens }),
    ...(ask.stop && { stopSequences: [...ask.stop] }),
    ...(ask.tools && { tools: toolsOf(ask), stopWhen: stepCountIs(ask.run === undefined ? 1 : MOST_ANSWERS) }),
    ...(ask.choice && {
      toolChoice: ask.choice === 'required' ? ask.choice : { type: 'tool' as const, toolName: ask.choice.name },
    }),
    ...(ask.schema && { output: Output.object({ schema: jsonSchema({ ...ask.schema }) }) }),
    ...(ask.effort && {
      providerOptions: {
        openai: { reasoningEffort: ask.effort, reasoningSummary: 'auto', forceReasoning: true },
        anthropic: { thinking: { type: 'enabled', budgetTokens: BUDGETS[ask.effort] } },
        google: { thinkingConfig: { includeThoughts: true, thinkingBudget: BUDGETS[ask.effort] } },
      },
    }),
  }
  if (!ask.stream) return (await generateText(settings)).steps.map(step => tell(step, 0))
  let deltas = 0
  let failure: unknown
  const result = streamText({
    ...settings,
    onError: ({ error }) => {
      failure = error
    },
    onChunk: ({ chunk }) => {
      if (chunk.type === 'text-delta') deltas += 1
    },
  })
  await result.consumeStream()
  if (failure !== undefined) throw failure
  return (await result.steps).map(step => tell(step, deltas))
}

function toolsOf({ tools = [], run: execute }: Ask) {
  return Object.fromEntries(
    tools.map(({ name, description, schema }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema({ ...schema }),
        execute: async input => execute?.(name, input) ?? '',
      }),
    ]),
  )
}

function messagesOf({ turns }: Ask): ModelMessage[] {
  return turns.map(({ role, text, image, pdf }): ModelMessage => {
    if (role === 'assistant' || (image === undefined && pdf === undefined)) return { role, content: text }
    return {
      role,
      content: [
        { type: 'text', text },
        ...(image === undefined ? [] : [{ type: 'image' as const, image, mediaType: 'image/png' }]),
        ...(pdf === undefined
          ? []
          : [{ type: 'file' as const, data: pdf, mediaType: 'application/pdf', filename: 'a.pdf' }]),
      ],
    }
  })
}

interface Step {
  readonly text: string
  readonly reasoningText: string | undefined
  readonly toolCalls: readonly { readonly toolName: string; readonly input: unknown }[]
  readonly finishReason: string
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined }
}

const FINISH: Readonly<Record<string, Told['finish']>> = { stop: 'stop', length: 'length', 'tool-calls': 'tool' }

function tell({ text, reasoningText, toolCalls, finishReason, usage }: Step, deltas: number): Told {
  return {
    text,
    reasoning: reasoningText ?? '',
    calls: toolCalls.map(({ toolName, input }) => ({ name: toolName, input })),
    finish: FINISH[finishReason] ?? 'other',
    input: usage.inputTokens,
    output: usage.outputTokens,
    deltas,
  }
}
