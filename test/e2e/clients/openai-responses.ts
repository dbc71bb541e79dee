import OpenAI from 'openai'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Item = OpenAI.Responses.ResponseInputItem

/** The conversation is sent whole in every turn, with the items of earlier answers unchanged. */
export const openaiResponses: Client = ask => converse(ask, 'replay')

/** The gateway keeps the conversation: each turn sends only what is new. */
export const openaiResponsesStateful: Client = ask => converse(ask, 'previous')

async function converse(ask: Ask, memory: 'replay' | 'previous'): Promise<readonly Told[]> {
  const sdk = new OpenAI({ apiKey: ask.key, baseURL: `${ask.origin}/v1`, maxRetries: 0 })
  let input: Item[] = ask.turns.map(itemOf)
  let previous: string | undefined
  const told: Told[] = []
  while (told.length < MOST_ANSWERS) {
    const { response, deltas } = await respond(
      sdk,
      {
        ...paramsOf(ask),
        input,
        ...(memory === 'replay'
          ? { store: false, include: ['reasoning.encrypted_content' as const] }
          : { store: true, ...(previous !== undefined && { previous_response_id: previous }) }),
      },
      ask.stream,
    )
    told.push(tell(response, deltas))
    const calls = response.output.flatMap(item => (item.type === 'function_call' ? [item] : []))
    const { run } = ask
    if (run === undefined || calls.length === 0) return told
    const results = calls.map(
      ({ call_id, name, arguments: text }): Item => ({
        type: 'function_call_output',
        call_id,
        output: run(name, JSON.parse(text)),
      }),
    )
    previous = response.id
    input = memory === 'replay' ? [...input, ...(response.output as Item[]), ...results] : results
  }
  return told
}

async function respond(
  sdk: OpenAI,
  params: Params,
  stream: boolean,
): Promise<{ response: OpenAI.Responses.Response; deltas: number }> {
  if (!stream) return { response: await sdk.responses.create(params), deltas: 0 }
  const runner = sdk.responses.stream(params as Parameters<typeof sdk.responses.stream>[0])
  let deltas = 0
  runner.on('response.output_text.delta', () => {
    deltas += 1
  })
  return { response: await runner.finalResponse(), deltas }
}

function paramsOf({ model, system, tools, choice, schema, effort, maxTokens }: Ask): Params {
  return {
    model,
    ...(system !== undefined && { instructions: system }),
    ...(tools && {
      tools: tools.map(({ name, description, schema: parameters }) => ({
        type: 'function' as const,
        name,
        description,
        parameters: { ...parameters },
        strict: false,
      })),
    }),
    ...(choice && { tool_choice: choice === 'required' ? choice : { type: 'function' as const, name: choice.name } }),
    ...(schema && {
      text: { format: { type: 'json_schema' as const, name: 'answer', strict: true, schema: { ...schema } } },
    }),
    ...(effort && { reasoning: { effort, summary: 'auto' as const } }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
  }
}

function itemOf({ role, text, image, pdf }: Ask['turns'][number]): Item {
  if (role === 'assistant' || (image === undefined && pdf === undefined)) return { role, content: text }
  return {
    role,
    content: [
      { type: 'input_text', text },
      ...(image === undefined
        ? []
        : [{ type: 'input_image' as const, detail: 'auto' as const, image_url: `data:image/png;base64,${image}` }]),
      ...(pdf === undefined
        ? []
        : [
            {
              type: 'input_file' as const,
              filename: 'a.pdf',
              file_data: `data:application/pdf;base64,${pdf}`,
            },
          ]),
    ],
  }
}

function tell(response: OpenAI.Responses.Response, deltas: number): Told {
  const { output, usage, status, incomplete_details } = response
  const calls = output.flatMap(item =>
    item.type === 'function_call' ? [{ name: item.name, input: JSON.parse(item.arguments) }] : [],
  )
  const reasoning = output.flatMap(item => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
  return {
    text: response.output_text ?? '',
    reasoning: reasoning.join('\n\n'),
    calls,
    finish:
      status === 'completed'
        ? calls.length > 0
          ? 'tool'
          : 'stop'
        : incomplete_details?.reason === 'max_output_tokens'
          ? 'length'
          : 'other',
    input: usage?.input_tokens,
    output: usage?.output_tokens,
    deltas,
  }
}
