import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  type Message,
  type StopReason,
  type TokenUsage,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

type Input = ConverseCommandInput

/** The SDK of this protocol with a key of the gateway as its token; by HTTP/1.1, as its own handler is for TLS. */
export function converseSdk(origin: string, key: string): BedrockRuntimeClient {
  return new BedrockRuntimeClient({
    endpoint: origin,
    region: 'eu-central-1',
    token: { token: key },
    authSchemePreference: ['httpBearerAuth'],
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  })
}

export const converse: Client = async ask => {
  const sdk = converseSdk(ask.origin, ask.key)
  const messages: Message[] = ask.turns.map(messageOf)
  const told: Told[] = []
  try {
    while (told.length < MOST_ANSWERS) {
      const input = { ...inputOf(ask), messages }
      const answer = ask.stream ? await streamed(sdk, input) : await whole(sdk, input)
      told.push(tell(answer))
      const calls = answer.content.flatMap(({ toolUse }) => toolUse ?? [])
      const { run } = ask
      if (run === undefined || calls.length === 0) return told
      messages.push({ role: 'assistant', content: [...answer.content] })
      const results = calls.map(({ toolUseId, name = '', input }): ContentBlock => {
        return { toolResult: { toolUseId, content: [{ text: run(name, input) }] } }
      })
      messages.push({ role: 'user', content: results })
    }
    return told
  } catch (error) {
    const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
    throw Object.assign(error as Error, { status: $metadata?.httpStatusCode })
  } finally {
    sdk.destroy()
  }
}

interface Answer {
  readonly content: readonly ContentBlock[]
  readonly stopReason: StopReason | undefined
  readonly usage: TokenUsage | undefined
  readonly deltas: number
}

async function whole(sdk: BedrockRuntimeClient, input: Input): Promise<Answer> {
  const { output, stopReason, usage } = await sdk.send(new ConverseCommand(input))
  return { content: output?.message?.content ?? [], stopReason, usage, deltas: 0 }
}

/** The SDK hands out events: blocks are put together as its examples do it. */
async function streamed(sdk: BedrockRuntimeClient, input: Input): Promise<Answer> {
  const { stream = [] } = await sdk.send(new ConverseStreamCommand(input))
  const blocks: { text: string; json: string; thought: string; signature?: string; begun?: ContentBlock }[] = []
  let deltas = 0
  let stopReason: StopReason | undefined
  let usage: TokenUsage | undefined
  for await (const event of stream as AsyncIterable<Event>) {
    const index = event.contentBlockStart?.contentBlockIndex ?? event.contentBlockDelta?.contentBlockIndex ?? 0
    const start = event.contentBlockStart?.start
    const delta = event.contentBlockDelta?.delta
    if (start !== undefined || delta !== undefined) blocks[index] ??= { text: '', json: '', thought: '' }
    const block = blocks[index]
    if (block !== undefined && start !== undefined) block.begun = start as ContentBlock
    if (block !== undefined && delta !== undefined) {
      if (delta.text !== undefined) deltas += 1
      block.text += delta.text ?? ''
      block.json += delta.toolUse?.input ?? ''
      block.thought += delta.reasoningContent?.text ?? ''
      if (delta.reasoningContent?.signature !== undefined) block.signature = delta.reasoningContent.signature
    }
    stopReason = event.messageStop?.stopReason ?? stopReason
    usage = event.metadata?.usage ?? usage
  }
  const content = blocks.map(({ text, json, thought, signature, begun }): ContentBlock => {
    if (begun?.toolUse !== undefined) {
      return { toolUse: { ...begun.toolUse, input: JSON.parse(json === '' ? '{}' : json) } }
    }
    if (text !== '') return { text }
    return { reasoningContent: { reasoningText: { text: thought, signature } } }
  })
  return { content, stopReason, usage, deltas }
}

/** What the SDK's union of events has, of which this reads some. */
interface Event {
  readonly contentBlockStart?: { readonly contentBlockIndex?: number; readonly start?: object }
  readonly contentBlockDelta?: {
    readonly contentBlockIndex?: number
    readonly delta?: {
      readonly text?: string
      readonly toolUse?: { readonly input?: string }
      readonly reasoningContent?: { readonly text?: string; readonly signature?: string }
    }
  }
  readonly messageStop?: { readonly stopReason?: StopReason }
  readonly metadata?: { readonly usage?: TokenUsage }
}

function inputOf({ model, system, tools, choice, schema, effort, maxTokens, stop }: Ask): Input {
  return {
    modelId: model,
    ...(system !== undefined && { system: [{ text: system }] }),
    inferenceConfig: { maxTokens: maxTokens ?? 16_000, ...(stop && { stopSequences: [...stop] }) },
    ...(tools && {
      toolConfig: {
        tools: tools.map(({ name, description, schema: json }) => ({
          toolSpec: { name, description, inputSchema: { json: json as never } },
        })),
        ...(choice && { toolChoice: choice === 'required' ? { any: {} } : { tool: { name: choice.name } } }),
      },
    }),
    ...((schema || effort) && {
      outputConfig: {
        ...(schema && {
          textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: JSON.stringify(schema) } } },
        }),
        ...(effort && { effort }),
      },
    }),
  }
}

function messageOf({ role, text, image, pdf }: Ask['turns'][number]): Message {
  return {
    role,
    content: [
      { text },
      ...(image === undefined ? [] : [{ image: { format: 'png', source: bytesOf(image) } } as const]),
      ...(pdf === undefined ? [] : [{ document: { format: 'pdf', name: 'report', source: bytesOf(pdf) } } as const]),
    ],
  }
}

function bytesOf(base64: string): { readonly bytes: Uint8Array } {
  return { bytes: Buffer.from(base64, 'base64') }
}

const FINISH: Readonly<Record<string, Told['finish']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool',
}

function tell({ content, stopReason, usage, deltas }: Answer): Told {
  const cached = (usage?.cacheReadInputTokens ?? 0) + (usage?.cacheWriteInputTokens ?? 0)
  return {
    text: content.map(({ text = '' }) => text).join(''),
    reasoning: content.flatMap(({ reasoningContent }) => reasoningContent?.reasoningText?.text ?? []).join('\n\n'),
    calls: content.flatMap(({ toolUse }) => (toolUse ? [{ name: toolUse.name ?? '', input: toolUse.input }] : [])),
    finish: FINISH[stopReason ?? ''] ?? 'other',
    input: usage?.inputTokens === undefined ? undefined : usage.inputTokens + cached,
    output: usage?.outputTokens,
    deltas,
  }
}
