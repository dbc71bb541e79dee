import {
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
} from '@google/genai'
import { type Ask, type Client, MOST_ANSWERS, type Told } from './ask.js'

export const genai: Client = async ask => {
  const sdk = new GoogleGenAI({ apiKey: ask.key, httpOptions: { baseUrl: ask.origin } })
  const contents: Content[] = ask.turns.map(contentOf)
  const told: Told[] = []
  while (told.length < MOST_ANSWERS) {
    const chunks = await generate(sdk, ask, contents)
    told.push(tell(chunks, ask.stream))
    const parts = partsOf(chunks)
    const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
    const { run } = ask
    if (run === undefined || calls.length === 0) return told
    contents.push({ role: 'model', parts })
    contents.push({
      role: 'user',
      parts: calls.map(({ id, name = '', args }) => ({
        functionResponse: { ...(id !== undefined && { id }), name, response: { result: run(name, args) } },
      })),
    })
  }
  return told
}

async function generate(sdk: GoogleGenAI, ask: Ask, contents: Content[]): Promise<GenerateContentResponse[]> {
  const request = { model: ask.model, contents, config: configOf(ask) }
  if (!ask.stream) return [await sdk.models.generateContent(request)]
  const chunks: GenerateContentResponse[] = []
  for await (const chunk of await sdk.models.generateContentStream(request)) chunks.push(chunk)
  return chunks
}

const BUDGETS = { low: 1024, medium: 8192, high: 24_576 } as const

function configOf({ system, tools, choice, schema, effort, maxTokens, stop }: Ask): GenerateContentConfig {
  return {
    ...(system !== undefined && { systemInstruction: system }),
    ...(tools && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, schema: parametersJsonSchema }) => ({
            name,
            description,
            parametersJsonSchema,
          })),
        },
      ],
    }),
    ...(choice && {
      toolConfig: {
        functionCallingConfig: {
          mode: FunctionCallingConfigMode.ANY,
          ...(choice !== 'required' && { allowedFunctionNames: [choice.name] }),
        },
      },
    }),
    ...(schema && { responseMimeType: 'application/json', responseJsonSchema: schema }),
    ...(effort && { thinkingConfig: { includeThoughts: true, thinkingBudget: BUDGETS[effort] } }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(stop && { stopSequences: [...stop] }),
  }
}

function contentOf({ role, text, image, pdf }: Ask['turns'][number]): Content {
  return {
    role: role === 'assistant' ? 'model' : 'user',
    parts: [
      { text },
      ...(image === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: image } }]),
      ...(pdf === undefined ? [] : [{ inlineData: { mimeType: 'application/pdf', data: pdf } }]),
    ],
  }
}

function partsOf(chunks: readonly GenerateContentResponse[]): Part[] {
  return chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
}

function tell(chunks: readonly GenerateContentResponse[], stream: boolean): Told {
  const parts = partsOf(chunks)
  const texts = parts.flatMap(({ text, thought }) => (text && thought !== true ? [text] : []))
  const calls = parts.flatMap(({ functionCall }) =>
    functionCall === undefined ? [] : [{ name: functionCall.name ?? '', input: functionCall.args ?? {} }],
  )
  const finish = chunks.map(chunk => chunk.candidates?.[0]?.finishReason).findLast(reason => reason !== undefined)
  const usage = chunks.at(-1)?.usageMetadata
  return {
    text: texts.join(''),
    reasoning: parts.flatMap(({ text, thought }) => (text && thought === true ? [text] : [])).join(''),
    calls,
    finish: finish === 'STOP' ? (calls.length > 0 ? 'tool' : 'stop') : finish === 'MAX_TOKENS' ? 'length' : 'other',
    input: usage?.promptTokenCount,
    output: usage === undefined ? undefined : (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    deltas: stream ? texts.length : 0,
  }
}
