import OpenAI from 'openai'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

type Params = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming
type Message = OpenAI.Chat.ChatCompletionMessageParam

export const openaiChat: Client = async ask => {
  const sdk = new OpenAI({ apiKey: ask.key, baseURL: `${ask.origin}/v1`, maxRetries: 0 })
  const messages: Message[] = [
    ...(ask.system === undefined ? [] : [{ role: 'system' as const, content: ask.system }]),
    ...ask.turns.map(messageOf),
  ]
  const told: Told[] = []
  while (told.length < MOST_ANSWERS) {
    const { completion, deltas } = await complete(sdk, { ...paramsOf(ask), messages }, ask.stream)
    const choice = completion.choices[0]!
    const calls = (choice.message.tool_calls ?? []).flatMap(call => (call.type === 'function' ? [call] : []))
    told.push(tell(completion, deltas))
    if (ask.run === undefined || calls.length === 0) return told
    messages.push(choice.message)
    for (const { id, function: called } of calls) {
      const content = ask.run(called.name, JSON.parse(called.arguments))
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
  return told
}

async function complete(
  sdk: OpenAI,
  params: Params,
  stream: boolean,
): Promise<{ completion: OpenAI.Chat.ChatCompletion; deltas: number }> {
  if (!stream) return { completion: await sdk.chat.completions.create(params), deltas: 0 }
  const runner = sdk.chat.completions.stream({ ...params, stream: true, stream_options: { include_usage: true } })
  let deltas = 0
  runner.on('content', () => {
    deltas += 1
  })
  return { completion: await runner.finalChatCompletion(), deltas }
}

function paramsOf({ model, tools, choice, schema, effort, maxTokens, stop }: Ask): Omit<Params, 'messages'> {
  return {
    model,
    ...(tools && {
      tools: tools.map(({ name, description, schema: parameters }) => ({
        type: 'function' as const,
        function: { name, description, parameters },
      })),
    }),
    ...(choice && {
      tool_choice: choice === 'required' ? choice : { type: 'function' as const, function: { name: choice.name } },
    }),
    ...(schema && {
      response_format: { type: 'json_schema' as const, json_schema: { name: 'answer', strict: true, schema } },
    }),
    ...(effort && { reasoning_effort: effort }),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(stop && { stop: [...stop] }),
  }
}

function messageOf({ role, text, image, pdf }: Ask['turns'][number]): Message {
  if (role === 'assistant') return { role, content: text }
  if (image === undefined && pdf === undefined) return { role, content: text }
  return {
    role,
    content: [
      { type: 'text', text },
      ...(image === undefined
        ? []
        : [{ type: 'image_url' as const, image_url: { url: `data:image/png;base64,${image}` } }]),
      ...(pdf === undefined
        ? []
        : [{ type: 'file' as const, file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } }]),
    ],
  }
}

const FINISH: Readonly<Record<string, Told['finish']>> = { stop: 'stop', length: 'length', tool_calls: 'tool' }

function tell({ choices, usage }: OpenAI.Chat.ChatCompletion, deltas: number): Told {
  const { message, finish_reason } = choices[0]!
  return {
    text: message.content ?? '',
    reasoning: (message as { reasoning_content?: string }).reasoning_content ?? '',
    calls: (message.tool_calls ?? []).flatMap(call =>
      call.type === 'function' ? [{ name: call.function.name, input: JSON.parse(call.function.arguments) }] : [],
    ),
    finish: FINISH[finish_reason] ?? 'other',
    input: usage?.prompt_tokens,
    output: usage?.completion_tokens,
    deltas,
  }
}
