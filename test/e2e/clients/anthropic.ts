import Anthropic from '@anthropic-ai/sdk'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

type Params = Anthropic.MessageCreateParamsNonStreaming
type Message = Anthropic.MessageParam

export const anthropic: Client = async ask => {
  const sdk = new Anthropic({ apiKey: ask.key, authToken: null, baseURL: ask.origin, maxRetries: 0 })
  const messages: Message[] = ask.turns.map(messageOf)
  const told: Told[] = []
  while (told.length < MOST_ANSWERS) {
    const { message, deltas } = await send(sdk, { ...paramsOf(ask), messages }, ask.stream)
    told.push(tell(message, deltas))
    const calls = message.content.flatMap(block => (block.type === 'tool_use' ? [block] : []))
    const { run } = ask
    if (run === undefined || calls.length === 0) return told
    messages.push({ role: 'assistant', content: message.content as Anthropic.ContentBlockParam[] })
    messages.push({
      role: 'user',
      content: calls.map(({ id, name, input }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: run(name, input),
      })),
    })
  }
  return told
}

async function send(
  sdk: Anthropic,
  params: Params,
  stream: boolean,
): Promise<{ message: Anthropic.Message; deltas: number }> {
  if (!stream) return { message: await sdk.messages.create(params), deltas: 0 }
  const runner = sdk.messages.stream(params)
  let deltas = 0
  runner.on('text', () => {
    deltas += 1
  })
  return { message: await runner.finalMessage(), deltas }
}

const BUDGETS = { low: 1024, medium: 2048, high: 4096 } as const

function paramsOf({ model, system, tools, choice, schema, effort, maxTokens, stop }: Ask): Omit<Params, 'messages'> {
  return {
    model,
    max_tokens: maxTokens ?? 16_000,
    ...(system !== undefined && { system }),
    ...(tools && {
      tools: tools.map(({ name, description, schema: input }) => ({
        name,
        description,
        input_schema: { type: 'object' as const, ...input },
      })),
    }),
    ...(choice && {
      tool_choice: choice === 'required' ? { type: 'any' as const } : { type: 'tool' as const, name: choice.name },
    }),
    ...(schema && { output_config: { format: { type: 'json_schema' as const, schema: { ...schema } } } }),
    ...(effort && { thinking: { type: 'enabled' as const, budget_tokens: BUDGETS[effort] } }),
    ...(stop && { stop_sequences: [...stop] }),
  }
}

function messageOf({ role, text, image, pdf }: Ask['turns'][number]): Message {
  if (image === undefined && pdf === undefined) return { role, content: text }
  return {
    role,
    content: [
      { type: 'text', text },
      ...(image === undefined
        ? []
        : [
            {
              type: 'image' as const,
              source: { type: 'base64' as const, media_type: 'image/png' as const, data: image },
            },
          ]),
      ...(pdf === undefined
        ? []
        : [
            {
              type: 'document' as const,
              source: { type: 'base64' as const, media_type: 'application/pdf' as const, data: pdf },
            },
          ]),
    ],
  }
}

const FINISH: Readonly<Record<string, Told['finish']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool',
}

function tell({ content, stop_reason, usage }: Anthropic.Message, deltas: number): Told {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
  return {
    text: content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join(''),
    reasoning: content.flatMap(block => (block.type === 'thinking' ? [block.thinking] : [])).join('\n\n'),
    calls: content.flatMap(block => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [])),
    finish: FINISH[stop_reason ?? ''] ?? 'other',
    input: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
    output: output_tokens,
    deltas,
  }
}
